// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/command/command_rounds.h"
#include "headroom/compare/comparison.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Key of the comparison's margin in the environment.
inline constexpr const char* kMarginKey = "margin";

/// Returns the records of compared commands: wall time (latency, the headline), user_time, system_time (s),
/// peak_memory (B), page_faults, context_switches, involuntary_switches, exit_code (negative for a signal),
/// and if counted or nonzero major_faults, instructions, cycles, cache_misses, branch_misses. A command
/// without samples has one record with the reason. peak_memory has at_most in extra_info if it is no larger
/// than this program's own memory. The latency of all but the first has its ratio to the first in
/// metric.extra_info, and those of all modes of its times (mode_note.h), as records of `headroom run` do.
std::vector<Record> command_records(const CommandGroup& group,
                                    const std::shared_ptr<const Environment>& environment);

/// Writes running command comparisons to a journal from which their records can be rebuilt: the commands
/// first, then a line of samples per round.
class CommandJournal {
 public:
  /// `write` receives one line per call.
  explicit CommandJournal(std::function<void(const Json&)> write) : write_(std::move(write)) {}

  /// Call after each round. Writes the news.
  void note(const CommandGroup& group);

 private:
  /// Detects changes of each command.
  using Shape = std::vector<std::pair<bool, std::int64_t>>;

  std::function<void(const Json&)> write_;
  Shape shape_;
  std::vector<std::size_t> written_;  ///< samples already written, by command
};

/// Applies a line of CommandJournal to the result of the lines before it. Returns false for other lines.
/// Throws Error if the line is damaged.
bool replay(const Json& line, CommandGroup& group);

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
