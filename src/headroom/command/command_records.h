// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headroom/command/command_rounds.h"
#include "headroom/compare/comparison.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// With the values of its parameters, or the commit.
std::string title_of(const Record& command);

inline constexpr const char* kMarginKey = "margin";

/// Returns for each command latency (the headline), user_time, system_time (s), peak_memory (B), page_faults,
/// context_switches, involuntary_switches, exit_code (negative for a signal), and if counted or nonzero
/// major_faults, instructions, cycles, cache_misses, branch_misses. Without samples only a record with the
/// reason. extra_info of peak_memory has at_most if it may be this program's memory; that of latency the
/// ratio to the first command and the modes (mode_note.h).
std::vector<Record> command_records(const GroupResult& group,
                                    const std::shared_ptr<const Environment>& environment);

/// Table of `headroom ab` and `time`. `comparisons`: judged, of the latency records.
Table command_table(const std::vector<Record>& records, std::span<const Comparison> comparisons);

std::string command_legend(const std::vector<Record>& records);

View command_view(const std::vector<Record>& records, std::span<const Comparison> comparisons);

}  // namespace headroom
