// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/measuring/stop_options.h"
#include "headroom/console/command.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_relay.h"
#include "headroom/record/record.h"
#include "headroom/results/record_files.h"
#include "headroom/results/run_journal.h"
#include "headroom/schedule/session.h"
#include "headroom/stats/stopping.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// The ranks of a command that measures with several processes.
struct RankStart {
  std::optional<RankPlace> place;  ///< what a launcher gave us; nothing: the ranks are started here
  int ranks = 1;
  std::uint16_t port = 0;  ///< where they meet; 0: any
  /// The programs of a rank, each of them a job of its own; "pytorch" is Python with PyTorch.
  std::vector<std::string> runners;
  int threads = 1;        ///< that an operator may use in each
  std::string arguments;  ///< what all ranks of a launcher must have been asked alike; they greet with it
  std::chrono::milliseconds timeout{60'000};  ///< for them to come
};

/// "headroom", or the launcher that started the ranks.
std::string launcher_of(const RankStart& start);

/// Throws Error where a launcher started another number of ranks than `asked` (0: nothing was asked).
void require_launched(const std::optional<RankPlace>& place, int asked);

/// Takes headroom-torch-rank where no program was asked for. Throws Error where it is not found, or a
/// launcher's ranks would have to be of several programs; `command` is who needs it ("dispatch").
void settle_rank_programs(RankStart& start, const std::string& command);

/// Starts the ranks, or leads those of a launcher. Throws Interrupted where `give_up` says so, RankLost,
/// Error.
RankGroup start_ranks(const RankStart& start, const std::string& runner,
                      const std::function<bool()>& give_up);

/// The command of a rank that is not rank 0, under another launcher: silent, unless it fails before there is
/// a leader to tell.
ExitCode follow(const RankStart& start);

class OptionTable;

/// What every command whose work ranks do is asked for.
struct RankOptions {
  RankStart start;
  RankPatience patience;
  StopRule stop;                 ///< of what shares its rounds
  double run_time_ns = 0;        ///< as SessionRequest's
  std::uint64_t seed = 1;        ///< of data, parameters and orders
  std::string backend = "gloo";  ///< by which ranks exchange data, or "nccl"
  bool limits = false;           ///< of the machine, in the same rounds
  bool list = false, per_rank = false;
  std::string json, oss;         ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// What of it was given as text.
struct RawRankOptions {
  StopOptions stop;
  std::string timeout;
  bool quick = false, no_store = false, no_limits = false;
};

/// --threads, --seed, --port, --runner and --timeout.
void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options);
/// --no-limits, of those that sample what the machine can do.
void declare_limits(OptionTable& table, RawRankOptions& raw, RankOptions& options);
/// --per-rank and the history.
void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options);

/// Fills in what the texts say, and the program of a rank. Throws Error; `command` is who asks ("ddp").
void settle_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command);

/// How long ranks may take to start and to answer, from what --timeout said (empty: the default). Throws
/// Error.
RankPatience rank_patience(const std::string& timeout);

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
  /// Adds what else its records say of where they are from.
  virtual void complete(Environment& /*environment*/) const {}
  /// A sample is one iteration; in one job, in several of each program where these are compared.
  virtual void adjust(SessionRequest& /*request*/) const {}
  virtual void list(const RunnerOffer& /*ranks*/) const {}
  /// The experiments that were asked for by name; of a job that does not start in time these are the rows.
  virtual std::vector<std::string> names() const { return {}; }
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
  /// Of the first job: its ranks, and what they compute with; none if no job has started in time.
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
