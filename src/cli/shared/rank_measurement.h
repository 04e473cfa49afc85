// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_options.h"
#include "cli/shared/record_files.h"
#include "cli/shared/run_journal.h"
#include "headroom/base/sheet.h"
#include "headroom/record/record.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

/// A command whose work ranks do: starts or leads them, has the engine sample what it plans, and shows and
/// writes what was kept, also after a rank was lost or the user ended it.
class RankMeasurement {
 public:
  /// `command` as the user calls it ("ddp"). Throws Error where a file cannot be written.
  RankMeasurement(const char* command, const Arguments& arguments, const RankOptions& options);
  RankMeasurement(const RankMeasurement&) = delete;
  RankMeasurement& operator=(const RankMeasurement&) = delete;
  virtual ~RankMeasurement() = default;

  /// Throws Error that names the ranks that were lost, and for what cannot be measured.
  ExitCode run();

 protected:
  /// What else its records say of where they are from.
  virtual StringMap provenance() const { return {}; }
  /// A sample is one iteration; in one job, in several of each program where these are compared.
  virtual void adjust(SessionRequest& /*request*/) const {}
  virtual void list(const RunnerOffer& /*ranks*/) const {}
  /// Throws Error for a name that is none.
  virtual std::vector<Group> groups(const SessionRequest& request,
                                    const std::vector<RunnerOffer>& offers) = 0;
  /// The records of a group, in the words of the command.
  virtual std::vector<Record> in_words(const std::vector<Record>& finished) const = 0;
  /// Writes what it writes beside records, as far as they go.
  virtual void write_so_far() const {}
  /// Records of all groups together.
  virtual std::vector<Record> of_all() const { return {}; }
  virtual Sheet sheet() = 0;
  virtual Table rank_table() const = 0;
  /// Whether a program reads standard output: the tables make way.
  virtual bool uses_stdout() const { return files_.uses_stdout(); }
  /// After the tables.
  virtual void report_more() {}
  virtual ExitCode verdict() const;

  const std::vector<Record>& records() const { return records_; }
  /// Of the first job: its ranks, and what they compute with.
  const RunnerOffer& ranks() const { return ranks_; }

 private:
  SessionRequest request() const;
  void measure();
  void report();

  const char* command_;
  const Arguments& arguments_;
  const RankOptions& options_;
  RecordFiles files_;
  RunJournal journal_;
  RunnerOffer ranks_;
  std::vector<Record> records_;
};

}  // namespace headroom::cli
