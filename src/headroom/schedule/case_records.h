// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// Returns a note if one of the case and its memory limit has huge pages and the other has none.
std::optional<Note> page_note(const Track& track, const Limit& limit, const std::vector<LimitTrack>& limits);

/// Returns notes about disturbed or doubtful samples: steal time, preemption, page faults, changing or
/// throttled clocks, warm-up, processes that differ, threads that moved between caches, a drifting limit, a
/// result above its limit, a missed precision goal.
Notes noise_notes(const Track& track, const std::optional<Limit>& limit, StopReason stop);

/// Converts the result of a group to records: for each case "latency" (us) with all samples, the marked
/// headline metric, and the metrics that the case reports. Each record has the interval, the stop reason, the
/// limit of the same rounds and the noise notes. In a group of several cases, records of non-baseline cases
/// have extra_info ratio, ratio_low, ratio_high (of times) and ratio_to, relative to the baseline, or to the
/// first case with a right answer if the baseline is wrong. A case without samples has one record with its
/// outcome and no unit. `labels` are runner names by index.
std::vector<Record> case_records(const GroupResult& result, const std::vector<std::string>& labels,
                                 const std::shared_ptr<const Environment>& environment);

/// Whether the case was skipped because the time of the run was over.
bool is_unreached(const Record& record);

}  // namespace headroom
