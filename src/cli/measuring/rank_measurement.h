// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/measuring/measurement.h"
#include "headroom/console/command.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_relay.h"
#include "headroom/record/record.h"
#include "headroom/schedule/session.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

struct RankStart {
  std::optional<RankPlace> place;  ///< from a launcher; empty: start the ranks here
  int ranks = 1;
  std::uint16_t port = 0;  ///< where they meet; 0: any
  /// Programs, each a separate job; "pytorch" is Python with PyTorch.
  std::vector<std::string> runners;
  int threads = 1;                            ///< of an operator in each rank
  std::string arguments;                      ///< must be equal for all ranks of a launcher
  std::chrono::milliseconds timeout{60'000};  ///< for the ranks to come
};

/// "headroom", or the launcher of the ranks.
std::string launcher_of(const RankStart& start);

/// Throws Error if a launcher started another number. `asked` 0: any.
void require_launched(const std::optional<RankPlace>& place, int asked);

/// Defaults to headroom-torch-rank. Throws Error if it is missing or a launcher would need several; `command`
/// is for the message.
void resolve_rank_programs(RankStart& start, const std::string& command);

/// Starts the ranks, or leads a launcher's. Throws Interrupted if `give_up` returns true, RankLost, Error.
RankGroup start_ranks(const RankStart& start, const std::string& runner,
                      const std::function<bool()>& give_up);

/// Runs a rank other than 0 under a launcher. Prints nothing unless it fails without a leader.
ExitCode follow(const RankStart& start);

struct RankOptions {
  RankStart start;
  RankTimeouts timeouts;
  StopRule stop;                 ///< for cases that share rounds
  double run_time_ns = 0;        ///< as in SessionRequest
  std::uint64_t seed = 1;        ///< of data, parameters and orders
  std::string backend = "gloo";  ///< or "nccl"
  bool limits = false;           ///< sample the machine's limits
  bool list = false, per_rank = false;
  std::string json, oss;
  std::string store;  ///< history to append to, or empty
};

struct RawRankOptions {
  StopOptions stop;
  std::string timeout;
  bool quick = false, no_store = false;
};

/// --threads, --seed, --port, --runner and --timeout.
void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options);
/// --no-limits.
void declare_limits(OptionTable& table, RankOptions& options);
/// --per-rank and the history.
void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options);

/// Also finds the rank's program. Throws Error; `command` is for the message.
void resolve_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command);

/// Empty: the default. Throws Error.
RankTimeouts rank_timeouts(const std::string& timeout);

RunnerCommand rank_command(const RankStart& start, const std::string& runner, RankTimeouts timeouts,
                           const std::string& backend = "gloo");

/// Leaves out runners started for limits.
std::vector<RunnerOffer> rank_offers(const Session& session);

/// Experiments named `prefix` ("ddp.") and more; `kind` is for messages ("model").
class RankExperiments {
 public:
  RankExperiments(const RunnerOffer& ranks, std::string_view prefix, const char* kind);

  std::vector<std::string> by_default() const;
  /// Throws Error for an unknown name.
  void require(const std::vector<std::string>& names) const;
  void list() const;

 private:
  std::vector<ExperimentDescription> all_;  // without the prefix
  std::string kind_;
};

/// One case per runner. Throws Error if one lacks the experiment.
std::vector<PlannedCase> cases_of(const std::string& experiment, const AxisTexts& point,
                                  const std::string& backend, const SessionRequest& request,
                                  const std::vector<RunnerOffer>& offers);

/// Rank counts and runners share rounds.
Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers);

/// Starts or leads ranks, and samples the planned groups.
class RankMeasurement : public Measurement {
 public:
  /// `command` such as "ddp". Throws Error if a file cannot be written.
  RankMeasurement(const char* command, const Arguments& arguments, const RankOptions& options)
      : Measurement(RecordFiles(options.json, options.oss), options.store),
        command_(command),
        arguments_(arguments),
        options_(options) {}

 protected:
  virtual void complete(Environment& /*environment*/) const {}
  /// Called after the defaults: one iteration per sample, one job, several if programs are compared.
  virtual void adjust(SessionRequest& /*request*/) const {}
  virtual void list(const RunnerOffer& /*ranks*/) const {}
  /// Reported as rows if no job starts in time.
  virtual std::vector<std::string> names() const { return {}; }
  /// Throws Error for an unknown name.
  virtual std::vector<Group> groups(const SessionRequest& request,
                                    const std::vector<RunnerOffer>& offers) = 0;
  virtual std::vector<Record> instrument_records(const std::vector<Record>& finished) const = 0;

  /// The first job; empty if none has started in time.
  const RunnerOffer& ranks() const { return ranks_; }

 private:
  void measure() override;
  SessionRequest request() const;

  const char* command_;
  const Arguments& arguments_;
  const RankOptions& options_;
  RunnerOffer ranks_;
};

}  // namespace headroom::cli
