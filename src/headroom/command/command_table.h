// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// What `headroom ab` and `headroom time` print: a row for each command with the median of its wall time and
/// the half-width of its interval, user and system time, peak memory, page faults and context switches; below
/// it the ratio to the command that it was compared with (`comparisons` of the latency records, judged),
/// the groups that its times fall into, hardware counters, and the reason where it failed or was skipped.
Table command_table(const std::vector<Record>& records, std::span<const Comparison> comparisons);

/// What the marks of that table mean, and what is worth knowing of single commands (their notes); empty where
/// there is nothing to say.
std::string command_legend(const std::vector<Record>& records);

/// What these commands show: how they stand to each other, or what they take; the table and its legend.
Sheet command_sheet(const std::vector<Record>& records, std::span<const Comparison> comparisons);

}  // namespace headroom
