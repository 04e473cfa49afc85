// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/schedule/track.h"
#include "headroom/schedule/worker.h"

namespace headroom {

/// The cases and limits of a group, each prepared in its runner, and kept so while runners die: the track
/// that a runner was lost at is marked, its other tracks are prepared again in a fresh process, a new epoch.
/// All calls throw Interrupted where the user wants to stop.
class PreparedTracks {
 public:
  /// `result` and the others must outlive this.
  PreparedTracks(GroupResult& result, Workers& workers, const std::atomic<bool>& interrupted)
      : result_(&result), workers_(&workers), interrupted_(&interrupted) {}

  /// In another order in every other process: what is started first finds other memory than what comes last.
  void prepare_all();
  void prepare(Track& track);
  /// All have their samples.
  void conclude_all();
  /// Ends the runners of all tracks without asking them.
  void stop_runners();
  /// Fresh processes begin, of all runners.
  void next_epoch() { ++epoch_; }
  std::uint32_t epoch() const { return epoch_; }

  /// Runs `body`; when the runner is lost, marks `track` and brings the other tracks of that runner back.
  /// Throws RunnerLost where that is final.
  void guarded(Track& track, const std::function<void(Worker&)>& body);
  /// The same for what a case need not be able to do: it is brought back with the others. What the runner
  /// died of, empty where it lives.
  std::string spared(const Track& track, const std::function<void(Worker&)>& body);
  /// A sample of the track; nothing where it failed, or its runner was lost at it.
  std::optional<SampleReply> sample(Track& track, const SampleRequest& request);
  /// Marks the track, and releases it.
  void fail(Track& track, const std::string& reason);

  std::vector<Track*> all();
  /// Without the ping-pong readings, which come first in a round.
  std::vector<Track*> sampled();
  bool any_case_alive() const;

 private:
  void prepare_again(std::size_t runner);

  GroupResult* result_;
  Workers* workers_;
  const std::atomic<bool>* interrupted_;
  std::uint32_t epoch_ = 0;
};

}  // namespace headroom
