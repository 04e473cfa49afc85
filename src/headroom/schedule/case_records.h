// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// A note if only one of the two has huge pages.
std::optional<Note> page_note(const Track& track, const Limit& limit, const std::vector<LimitTrack>& limits);

/// Less than 1 % is normal in virtual machines.
void note_steal(const Track& track, Notes& notes);

/// Notes about disturbed or doubtful samples.
Notes noise_notes(const Track& track, const std::optional<Limit>& limit, StopReason stop);

/// Per case "latency" (us), the headline and the reported metrics. Ratios are of times to the baseline, or to
/// the first correct case if the baseline is wrong. A case without samples has one record with its outcome
/// and no unit. `labels`: runner names by index.
std::vector<Record> case_records(const GroupResult& result, const std::vector<std::string>& labels,
                                 const std::shared_ptr<const Environment>& environment);

bool is_unreached(const Record& record);

}  // namespace headroom
