// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "headroom/process/rank_group.h"
#include "headroom/record/record.h"
#include "headroom/runner/dispatch_protocol.h"
#include "headroom/schedule/observer.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// What one rank measured of an operator.
struct DispatchRank {
  std::int64_t pid = 0;
  DispatchCycles cycles;
  DispatchDetails details;
};

/// What all ranks measured of an operator; the same number of cycles each.
struct DispatchResult {
  std::string op;
  Outcome outcome;
  std::vector<DispatchRank> ranks;
  StopReason stop = StopReason::kNone;
};

struct DispatchLimits {
  StopRule stop;  ///< of one operator; a sample is a cycle, the goal is the half-width of the hit's median
  RankPatience patience;
};

/// Measures operators on a group of ranks. All calls throw RankLost where a rank is lost, and Interrupted
/// where the user wants to stop and a rank does not answer.
class DispatchRun {
 public:
  /// Waits until the ranks have met. Throws Error when they say what this does not understand, or nothing, or
  /// where one does not have the setup's backend. `give_up` is asked while waiting; said yes, it throws
  /// Interrupted.
  DispatchRun(RankGroup& ranks, DispatchSetup setup, DispatchLimits limits,
              const std::function<bool()>& give_up);

  /// What each rank said of itself.
  const std::vector<RankHello>& hellos() const { return ranks_.hellos(); }

  /// Measures one operator of the hello's. Whatever ends it, `result` has what was measured by then: an
  /// interrupt, which is a reason to stop like any other, or RankLost.
  void measure(const std::string& op, DispatchResult& result,
               const std::function<void(const Progress&)>& report = {});

 private:
  std::optional<StopReason> add_cycles(DispatchResult& result, Stopping& stopping,
                                       const std::function<void(const Progress&)>& report);

  DispatchSetup setup_;
  DispatchLimits limits_;
  RankConversation ranks_;
  std::chrono::steady_clock::time_point began_{};  ///< the operator at work
  int batch_ = 1;                                  ///< cycles to ask for next
};

}  // namespace headroom
