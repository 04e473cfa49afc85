// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/record/record.h"
#include "headroom/stats/modes.h"

namespace headroom {

/// How the note about times that fall into groups begins, in every record.
inline constexpr const char* kModesNote = "modes: ";

/// "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed" of times in ns; empty where they
/// are one group. One median says little of such a case.
std::string mode_note(const Modes& modes);

/// The same for programs: `modes`, medians of the groups in the unit of a metric that has `unit_ns`
/// nanoseconds ("0.01 0.014"), `mode_shares` ("0.520 0.480") and `mode_order` ("mixed" or "stretches").
/// Empty where the times are one group.
StringMap mode_info(const Modes& modes, double unit_ns);

/// The note among those of `record`; empty where there is none.
std::string mode_note_of(const Record& record);

}  // namespace headroom
