// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headroom/process/rank_group.h"
#include "headroom/record/record.h"
#include "headroom/runner/ddp_protocol.h"
#include "headroom/schedule/ddp_plan.h"
#include "headroom/schedule/observer.h"
#include "headroom/schedule/rank_conversation.h"

namespace headroom {

/// What one rank measured of a step.
struct DdpRank {
  std::int64_t pid = 0;
  DdpRounds rounds;
  DdpAgreement agreement;
  std::vector<std::vector<double>> reductions_ns;  ///< by size, see DdpResult::reduced_bytes
};

/// What all ranks of a step measured.
struct DdpResult {
  DdpStep step;
  Outcome outcome;
  DdpReady ready;              ///< of rank 0
  std::vector<DdpRank> ranks;  ///< those that took part
  std::vector<std::int64_t> reduced_bytes;
  std::string no_trace;  ///< why there is none that was asked for
  StopReason stop = StopReason::kNone;
};

struct DdpLimits {
  int warmup = 5, iterations = 10;
  RankPatience patience;
};

/// Trains on a group of ranks, step by step. All calls throw RankLost where a rank is lost, and Interrupted
/// where the user wants to stop and a rank does not answer.
class DdpRun {
 public:
  /// Waits until the ranks have met. Throws Error when they were asked for different things.
  DdpRun(RankGroup& ranks, DdpLimits limits, const std::function<bool()>& give_up);

  const std::vector<RankHello>& hellos() const { return ranks_.hellos(); }

  /// Measures a step. Whatever ends it, `result` has what was measured by then. Where
  /// step.trace is a folder, each rank then writes a trace of some iterations to it. Throws Error where ranks
  /// have made different models, or one does not have the backend.
  void measure(const DdpStep& step, DdpResult& result,
               const std::function<void(const Progress&)>& report = {});

 private:
  bool prepare(const DdpStep& step, DdpResult& result);
  void add_rounds(DdpResult& result, int count);
  void finish(DdpResult& result);
  void reduce_alone(DdpResult& result);
  void record_trace(DdpResult& result);
  std::vector<Json> ask(const Json& request, const std::string& awaited);

  DdpLimits limits_;
  RankConversation ranks_;
  std::string failure_;  ///< why a rank refused the last request; empty where none did
};

}  // namespace headroom
