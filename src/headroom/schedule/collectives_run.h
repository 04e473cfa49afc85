// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/process/rank_group.h"
#include "headroom/record/record.h"
#include "headroom/runner/collectives_protocol.h"
#include "headroom/schedule/observer.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// What all ranks measured of one collective of one size; the same number of calls each.
struct CollectiveResult {
  struct Rank {
    std::int64_t pid = 0;
    std::vector<double> ns;
  };
  CollectiveSetup setup;
  std::string how;  ///< see CollectiveReady
  Outcome outcome;
  std::vector<Rank> ranks;
  StopReason stop = StopReason::kNone;
};

/// For each call the time of the rank that took longest: until the last has it.
std::vector<double> slowest_ns(const CollectiveResult& result);

struct CollectiveLimits {
  StopRule stop;  ///< of one collective of one size; a sample is a call, its time that of the slowest rank
  RankPatience patience;
};

/// Measures collectives on a group of ranks. All calls throw RankLost where a rank is lost, and Interrupted
/// where the user wants to stop and a rank does not answer.
class CollectivesRun {
 public:
  CollectivesRun(RankGroup& ranks, CollectiveLimits limits, std::function<bool()> give_up);

  const std::vector<RankHello>& hellos() const { return ranks_.hellos(); }

  /// Measures `setup`, whose bytes become those that there were in `result`. Wrong data is a failure, too
  /// little memory a skip. Whatever ends it, `result` has what was measured by then.
  void measure(const CollectiveSetup& setup, CollectiveResult& result,
               const std::function<void(const Progress&)>& report = {});

 private:
  bool prepare(CollectiveResult& result);
  std::optional<StopReason> add_samples(CollectiveResult& result, Stopping& stopping,
                                        const std::function<void(const Progress&)>& report);

  CollectiveLimits limits_;
  RankConversation ranks_;
  std::chrono::steady_clock::time_point began_{};  ///< the collective at work
  int batch_ = 1;                                  ///< calls to ask for next
};

}  // namespace headroom
