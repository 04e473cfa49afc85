// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/command/command_rounds.h"
#include "headroom/compare/verdict.h"
#include "headroom/record/metrics.h"
#include "headroom/record/record.h"
#include "headroom/stats/compare.h"

namespace headroom {

/// In extra_info of instructions: the instruction sets of valgrind's processor.
inline constexpr const char* kCountedIsa = "isa";
/// In extra_info of a latency: "perf, cpu-clock, 2040 and 2100 samples".
inline constexpr const char* kSampledBy = "sampled_by";
/// The smallest difference of counts that is shown.
inline constexpr double kLeastCountChange = 1e-4;

/// Runs commands for more rounds, with hooks and without a random environment. Calls the last argument after
/// each.
using RunAgain = std::function<GroupResult(std::vector<PlannedCommand>, std::uint32_t,
                                           std::function<void(const GroupResult&)>)>;

/// Runs a group's commands under callgrind, the first twice, at fixed addresses. Adds a record of
/// instructions for each, instead of hardware counters'; its metric.numbers are the functions with the
/// largest differences to the first command, as shares of its instructions. If a command cannot be counted,
/// its latency has a note. `records`: of command_records().
void count_by_callgrind(std::vector<Record>& records, const std::vector<PlannedCommand>& group,
                        const RunAgain& run);

/// Samples the first and the given other commands by perf. Adds to the metric.numbers of their latencies the
/// functions with the largest differences, as shares of the first's CPU time, else a note.
void sample_by_perf(std::vector<Record>& records, const std::vector<PlannedCommand>& group,
                    std::span<const std::size_t> others, const RunAgain& run);

/// Finds another record of the command; nullptr if absent. `latency` is an element of `records`.
const Record* metric_of(std::span<const Record> records, const Record& latency, std::string_view metric);

/// Compares counts of one call; nothing for different sources. For callgrind a 95 % prediction interval from
/// both counts of the baseline: a point if the program is deterministic.
std::optional<RatioEstimate> count_ratio(const Record& baseline, const Record& test);

/// For round_gate_result(), by instructions; nullopt if uncounted.
std::vector<std::optional<GateOutcome>> count_outcomes(std::span<const Record> records,
                                                       std::span<const RoundComparison> judged,
                                                       double margin);

}  // namespace headroom
