// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/record/record.h"
#include "headroom/results/record_files.h"
#include "headroom/results/run_journal.h"
#include "headroom/stats/stopping.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// Environment of `headroom COMMAND ARGUMENTS`, with the options that decide on its samples.
Environment measuring_environment(const std::string& command, const Arguments& arguments, std::uint64_t seed,
                                  double max_time_ns, std::optional<double> precision = std::nullopt);

/// As given; empty or 0: not given.
struct StopOptions {
  std::string precision, min_time, max_time;
  std::size_t num_samples = 0;  ///< exact, unless --max-time ends them
};

/// Overrides `rule` by the given options. Throws Error.
StopRule override_stop_rule(StopRule rule, const StopOptions& given);

/// A longer --max-time limits the whole run; shorter ones each group's sampling, as starting programs takes
/// seconds.
inline constexpr double kMinRunTimeNs = 5e9;

/// Follows the first half of the help of --max-time.
inline constexpr const char* kRunTimeHelp =
    "; from 5s also of the whole run: cases not reached are listed as such";

/// --max-time if it limits the whole run, else infinity. Throws Error.
double run_time_ns(const StopOptions& given);

/// "not reached within --max-time 5.00 s".
std::string not_reached_text(double run_time_ns);

/// Journals and writes the results so far, then shows and keeps them, even after a lost rank or an interrupt.
class Measurement {
 public:
  Measurement(RecordFiles files, std::string store, bool markdown = false)
      : files_(std::move(files)), store_(std::move(store)), markdown_(markdown) {}
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;
  virtual ~Measurement() = default;

  /// Throws Error naming lost ranks, or if results could not be stored or written.
  ExitCode run();

 protected:
  /// Calls add() or replace(). May throw RankLost and Interrupted.
  virtual void measure() = 0;
  /// Records over all groups.
  virtual std::vector<Record> totals() const { return {}; }
  /// Shown at the end.
  virtual View view() const;
  /// Called after the tables.
  virtual void print_extras() {}
  /// Unless interrupted.
  virtual ExitCode verdict();

  /// Adds the records of a finished group.
  void add(const std::vector<Record>& finished);
  /// Adds a group that a killed run finished.
  void take(const FinishedGroup& group);
  /// Sets all records so far.
  void replace(std::vector<Record> records);

  const std::vector<Record>& records() const { return records_; }
  RecordFiles& files() { return files_; }
  RunJournal& journal() { return journal_; }

 private:
  RecordFiles files_;
  std::string store_;
  bool markdown_;
  RunJournal journal_;
  std::vector<Record> records_;
};

}  // namespace headroom::cli
