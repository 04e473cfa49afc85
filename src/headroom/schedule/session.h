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

/// Adds each runner's BLAS to the dependencies (record/environment.h).
std::shared_ptr<const Environment> environment_with_blas(
    const std::shared_ptr<const Environment>& environment, const std::vector<RunnerOffer>& offers);

/// Adds GPUs of the runners' drivers: name of the first, count and total memory in the fields of the OSS
/// benchmark database, more as "gpu_..." in extra_info of the machine.
std::shared_ptr<const Environment> environment_with_devices(std::shared_ptr<const Environment> environment,
                                                            const std::vector<RunnerOffer>& offers);

struct SessionRequest : MeasuringOptions {
  std::vector<RunnerCommand> runners;      ///< requested by the user
  std::vector<std::string> limit_runners;  ///< paths of runners that offer limits
  Selection selection;
  int processes = 0;        ///< that share the samples of a group; 0: three
  int processes_alone = 3;  ///< for a group of one case if `processes` is 0
  std::vector<std::pair<std::string, std::string>> environment{};  ///< of the limit runners, added to ours
  /// Includes starting the runners.
  double run_time_ns = std::numeric_limits<double>::infinity();
  /// Replaces run_time_ns: each_ns per group, at least least_ns.
  struct GroupTime {
    double least_ns, each_ns;
    std::string option;  ///< such as "--quick"
  };
  std::optional<GroupTime> group_time{};
};

class Session {
 public:
  /// Starts the runners. One that starts too late becomes a skipped row. Throws Error if one cannot be
  /// started or no requested one is usable.
  Session(SessionRequest request, std::shared_ptr<const Environment> environment,
          const std::atomic<bool>& interrupted);

  const std::vector<RunnerOffer>& offers() const { return offers_; }
  std::vector<std::string> labels() const;
  /// Includes the runners' devices and libraries.
  const std::shared_ptr<const Environment>& environment() const { return environment_; }
  /// Runners not requested by name that cannot run here, with the reason.
  const std::vector<std::string>& left_out() const { return fleet_.left_out(); }
  /// Requested runners, with the reason.
  const std::vector<std::string>& unusable_runners() const { return unusable_runners_; }
  /// Throws Error if the selection does not match the offers; empty if a runner started too late.
  std::vector<Group> groups() const;

  /// Adds facts that the session does not know, such as targets.
  using CompleteRecords = std::function<void(std::vector<Record>&)>;

  /// Hands each group's records to the observer. After an interrupt or a lost rank reports the current group
  /// and skips the rest; the latter then throws RankLost.
  void run(const std::vector<Group>& groups, Observer& observer, const CompleteRecords& complete = {});

 private:
  void start_runners();
  double starting_end_ns(std::size_t index) const;
  void report_late(Observer& observer) const;
  RoundSettings round_settings(const Group& group, std::size_t index) const;

  double sampling_share(const std::vector<Group>& groups, std::size_t index) const;
  std::string out_of_time() const;

  SessionRequest request_;
  double end_ns_;  ///< on steady_now_ns()
  std::shared_ptr<const Environment> environment_;
  const std::atomic<bool>& interrupted_;
  RunnerFleet fleet_;
  std::vector<std::string> unusable_runners_;
  std::vector<std::string> late_;  ///< requested, but not started in time
  std::vector<RunnerOffer> offers_;
};

}  // namespace headroom
