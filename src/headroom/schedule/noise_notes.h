// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// Where a case lies in huge pages and a limit that its bytes are held against does not, or the other way
/// round: says so; else empty.
std::string page_note(const Track& track, const Limit& limit, const std::vector<LimitTrack>& limits);

/// Sentences about what disturbed the samples of a case, or casts doubt on them: steal time, preemption, page
/// faults, a clock that moved, a device whose clocks were held down, warm-up, processes that differ, threads
/// that moved between caches, a limit that moved, a result above its limit, a precision goal that was not
/// reached.
std::vector<std::string> noise_notes(const Track& track, const std::optional<Limit>& limit, StopReason stop);

}  // namespace headroom
