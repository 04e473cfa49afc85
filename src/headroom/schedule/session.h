// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/environment.h"
#include "headroom/schedule/group_run.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner.h"

namespace headroom {

/// Returns the environment with each runner's BLAS added to its dependencies (record/environment.h), or
/// the same object if no runner names one.
std::shared_ptr<const Environment> with_blas(const std::shared_ptr<const Environment>& environment,
                                             const std::vector<RunnerOffer>& offers);

/// Returns the environment with the GPUs that the runners' drivers report: name of the first, count and
/// memory in the fields of the OSS benchmark database, the rest of the first as "gpu_..." in extra_info of
/// the machine. The same object without devices.
std::shared_ptr<const Environment> with_devices(std::shared_ptr<const Environment> environment,
                                                const std::vector<RunnerOffer>& offers);

struct SessionRequest {
  std::vector<RunnerCommand> runners;      ///< requested by the user
  std::vector<std::string> limit_runners;  ///< paths of the runners that offer limits
  Selection selection;
  StopRule stop;
  int processes = 0;        ///< processes that share the samples of a group; 0: three
  int processes_alone = 3;  ///< used for a group of one case if `processes` is 0
  std::vector<std::pair<std::string, std::string>> environment{};  ///< of the limit runners, added to ours
  bool limits = true;
  bool counts = true;               ///< count hardware events where possible
  double sample_ns = 5e6;           ///< minimum time of one sample
  std::uint32_t warmup = 0;         ///< discarded samples of each case in each process
  bool subtracts_overhead = false;  ///< subtract clock reads and Python call overhead from each time
  bool strict = false;              ///< fail cases that accumulate in less than f32
  std::string traces{};             ///< folder for traces; empty for no traces
  TuningStore* tuning = nullptr;    ///< earlier variant choices; null: the implementations decide
  bool tunes = true;                ///< tune cases without a stored choice
  /// From the start of the runners on, all that they do included; what it does not reach is skipped.
  double run_time_ns = std::numeric_limits<double>::infinity();
  /// The run time from the plan on, where there is none: least_ns, or so much for each group if that is more.
  struct GroupTime {
    double least_ns, each_ns;
    std::string option;  ///< that it comes with: "--quick"
  };
  std::optional<GroupTime> group_time{};
};

/// Runs one request: plan, schedule, runners, samples, records.
class Session {
 public:
  /// Starts the runners and completes the environment with their devices. A runner that does not start within
  /// its share of the run's time is a skipped row. Throws Error if a runner cannot be started or none that was
  /// requested is usable.
  Session(SessionRequest request, std::shared_ptr<const Environment> environment,
          const std::atomic<bool>& interrupted);

  const std::vector<RunnerOffer>& offers() const { return offers_; }
  /// Labels of the offers, in the same order.
  std::vector<std::string> labels() const;
  /// The environment of the records, with devices and libraries of the runners.
  const std::shared_ptr<const Environment>& environment() const { return environment_; }
  /// Runners not requested by name that cannot run on this machine, each with the reason.
  const std::vector<std::string>& left_out() const { return fleet_.left_out(); }
  /// Requested runners that are unusable while others work, each with the reason.
  const std::vector<std::string>& unfit() const { return unfit_; }
  /// Throws Error if the selection does not match the offers; then empty where a runner has not started.
  std::vector<Group> groups() const;

  /// Adds to the records of a group what a session does not know: targets, the load of the machine.
  using CompleteRecords = std::function<void(std::vector<Record>&)>;

  /// Measures all groups and hands the complete records of each to the observer when it is over. After an
  /// interrupt the current group reports what it has and the rest is skipped. The same after a lost rank;
  /// then throws RankLost.
  void run(const std::vector<Group>& groups, Observer& observer, const CompleteRecords& complete = {});

 private:
  void start_runners();
  double starting_end_ns(std::size_t index) const;
  void report_late(Observer& observer) const;
  RoundSettings round_settings(const Group& group, std::size_t index) const;

  /// Of the time that is left for `groups` from `index` on, the share of that one.
  double sampling_share(const std::vector<Group>& groups, std::size_t index) const;
  std::string out_of_time() const;

  SessionRequest request_;
  double end_ns_;  ///< of the run, on steady_now_ns()
  std::shared_ptr<const Environment> environment_;
  const std::atomic<bool>& interrupted_;
  RunnerFleet fleet_;
  std::vector<std::string> unfit_;
  std::vector<std::string> late_;  ///< labels of requested runners that have not started in time
  std::vector<RunnerOffer> offers_;
};

}  // namespace headroom
