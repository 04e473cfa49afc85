// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/measuring/rank_start.h"
#include "headroom/console/command.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/record/record.h"
#include "headroom/results/record_files.h"
#include "headroom/results/run_journal.h"
#include "headroom/schedule/session.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// How the engine starts the ranks of `runner` and waits for them; `backend` is what they exchange data by.
RunnerCommand rank_command(const RankStart& start, const std::string& runner, RankPatience patience,
                           const std::string& backend = "gloo");

/// The jobs of ranks, without what is there for the limits of the machine.
std::vector<RunnerOffer> rank_offers(const Session& session);

/// What a job of ranks has by the names after `prefix` ("ddp."): `kind` is what these are ("model").
class RankExperiments {
 public:
  RankExperiments(const RunnerOffer& ranks, std::string_view prefix, const char* kind);

  /// The names that are taken where none is asked for.
  std::vector<std::string> by_default() const;
  /// Throws Error for a name that is none, with the nearest.
  void require(const std::vector<std::string>& names) const;
  /// Prints what there is.
  void list() const;

 private:
  std::vector<ExperimentDescription> all_;  // by these names
  std::string kind_;
};

/// `experiment` at `point` by each runner. Throws Error where one of them has none of that name.
std::vector<PlannedCase> cases_of(const std::string& experiment, const AxisTexts& point,
                                  const std::string& backend, const SessionRequest& request,
                                  const std::vector<RunnerOffer>& offers);

/// A collective of one size by all of these rank counts and runners, which share their rounds.
Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers);

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
