// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/record/record.h"
#include "headroom/results/record_files.h"
#include "headroom/results/run_journal.h"

namespace headroom::cli {

/// The environment of `headroom COMMAND ARGUMENTS`, with the options that decide on its samples.
Environment measuring_environment(const std::string& command, const Arguments& arguments, std::uint64_t seed,
                                  double max_time_ns, std::optional<double> precision = std::nullopt);

/// A command that measures. Journals and writes the results so far, then shows and keeps them, even after a
/// lost rank or an interrupt.
class Measurement {
 public:
  Measurement(RecordFiles files, std::string store, bool markdown = false)
      : files_(std::move(files)), store_(std::move(store)), markdown_(markdown) {}
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;
  virtual ~Measurement() = default;

  /// Throws Error that names lost ranks, or if results could not be stored or written.
  ExitCode run();

 protected:
  /// Calls add() or replace(). May throw RankLost and Interrupted.
  virtual void measure() = 0;
  /// Records over all groups.
  virtual std::vector<Record> totals() const { return {}; }
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
