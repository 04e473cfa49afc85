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

inline constexpr const char* kMarginKey = "margin";

/// Returns for each command latency (the headline), user_time, system_time (s), peak_memory (B), page_faults,
/// context_switches, involuntary_switches, exit_code (negative for a signal), and if counted or nonzero
/// major_faults, instructions, cycles, cache_misses, branch_misses. Without samples only a record with the
/// reason. extra_info of peak_memory has at_most if the peak may be this program's own memory; that of
/// latency the ratio to the first command and the modes (mode_note.h).
std::vector<Record> command_records(const CommandGroup& group,
                                    const std::shared_ptr<const Environment>& environment);

/// Journals the commands, then a line of samples per round.
class CommandJournal {
 public:
  /// `write` receives one line per call.
  explicit CommandJournal(std::function<void(const Json&)> write) : write_(std::move(write)) {}

  /// Writes the news; call after each round.
  void note(const CommandGroup& group);

 private:
  using Shape = std::vector<std::pair<bool, std::int64_t>>;

  std::function<void(const Json&)> write_;
  Shape shape_;
  std::vector<std::size_t> written_;  ///< samples written, by command
};

/// Applies the next line. Returns false for other lines. Throws Error if damaged.
bool replay(const Json& line, CommandGroup& group);

/// Makes the table of `headroom ab` and `time`. `comparisons`: judged, of the latency records.
Table command_table(const std::vector<Record>& records, std::span<const Comparison> comparisons);

std::string command_legend(const std::vector<Record>& records);

Sheet command_sheet(const std::vector<Record>& records, std::span<const Comparison> comparisons);

}  // namespace headroom
