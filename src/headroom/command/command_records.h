// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "headroom/command/command_track.h"

namespace headroom {

/// Where the latency of a command that was compared with the first of its group says how sampling ended
/// (Look): "last" or "running".
inline constexpr const char* kLookKey = "look";
/// Where the environment says the margin of the comparison.
inline constexpr const char* kMarginKey = "margin";

/// The records of compared commands: of each its wall time (latency, the headline), user_time, system_time
/// (s), peak_memory (B), page_faults, context_switches, involuntary_switches and, where there were any or it
/// was counted, major_faults, instructions, cycles, cache_misses, branch_misses, and exit_code (minus the
/// number of a signal). A command that gave no sample has one record that says why. Where a peak is no larger
/// than what this program occupied itself, the extra_info of peak_memory has at_most. The latency of all but
/// the first has its ratio to the first in metric.extra_info, and that of all the groups that its times fall
/// into (mode_note.h), as records of `headroom run` have.
std::vector<Record> command_records(const CommandGroup& group,
                                    const std::shared_ptr<const Environment>& environment);

}  // namespace headroom
