// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "headroom/schedule/group_run.h"
#include "headroom/schedule/observer.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/runner_fleet.h"

namespace headroom {

struct SessionRequest {
  std::vector<RunnerCommand> runners;      ///< what the user asked for
  std::vector<std::string> limit_runners;  ///< paths of the runners that offer limits
  Selection selection;
  StopRule stop;
  int processes = 0;        ///< that share the samples of a group; 0: three
  int processes_alone = 3;  ///< where `processes` is 0, of a group of one case
  std::vector<std::pair<std::string, std::string>> environment{};  ///< of the limit runners, beside ours
  bool limits = true;
  bool counts = true;               ///< have the hardware count what cases do, where it can
  double sample_ns = 5e6;           ///< least time of one sample
  std::uint32_t warmup = 0;         ///< samples of each case in each process that are not kept
  bool subtracts_overhead = false;  ///< from each time, what reading the clock or calling Python costs
  bool strict = false;              ///< a case that sums in less than f32 fails
  std::string traces{};             ///< folder for a trace of each case; empty: none
  TuningStore* tuning = nullptr;    ///< which variants were fastest before; null: the implementations decide
  bool tunes = true;                ///< choose variants where `tuning` knows of none
};

/// plan -> schedule -> runners -> samples -> records, for one request.
class Session {
 public:
  /// Starts the runners; what they say of their devices completes the environment. Throws Error when one
  /// cannot be started, or none of those asked for can be used.
  Session(SessionRequest request, std::shared_ptr<const Environment> environment,
          const std::atomic<bool>& interrupted);

  const std::vector<RunnerOffer>& offers() const { return offers_; }
  /// Of the offers, in their order.
  std::vector<std::string> labels() const;
  /// What the records are given: with what the runners say of devices and libraries.
  const std::shared_ptr<const Environment>& environment() const { return environment_; }
  /// Runners that were not asked for by name and cannot run on this machine, each with why.
  const std::vector<std::string>& left_out() const { return fleet_.left_out(); }
  /// Runners that were asked for beside others and cannot be used, each with why.
  const std::vector<std::string>& unfit() const { return unfit_; }
  /// Throws Error when the selection does not fit what the runners offer.
  std::vector<Group> groups() const { return plan(offers_, request_.selection); }

  /// Measures all groups; each one's records go to the observer when it is over. After an interrupt the group
  /// at work gives what it has, and the rest is not begun; after a rank of a job was lost, too: throws
  /// RankLost then.
  void run(const std::vector<Group>& groups, Observer& observer);

 private:
  RoundSettings round_settings(const Group& group, std::size_t index) const;

  SessionRequest request_;
  std::shared_ptr<const Environment> environment_;
  const std::atomic<bool>& interrupted_;
  RunnerFleet fleet_;
  std::vector<std::string> unfit_;
  std::vector<RunnerOffer> offers_;
};

}  // namespace headroom
