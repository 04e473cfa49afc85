// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/dtensor/world.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {

/// `world` is null until the ranks are connected.
class RankContext {
 public:
  explicit RankContext(RankPlace of) : place(std::move(of)) {}

  RankPlace place;
  dtensor::WorldPtr world{};
  std::string trace{};  ///< folder for a trace of the current call; empty for a sample

  /// Connects once per `name` (for messages) and transport. All `ranks` ranks must call it in the same order.
  const dtensor::Group& first(int ranks, const std::string& name, dtensor::Transport transport) {
    const std::tuple key(ranks, name, transport);
    const auto known = groups_.find(key);
    if (known != groups_.end()) return known->second;
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return groups_.emplace(key, world->group(all, name, transport)).first->second;
  }
  int local_rank_count(int ranks) const { return std::min(place.local_size.value_or(place.size), ranks); }

 private:
  std::map<std::tuple<int, std::string, dtensor::Transport>, dtensor::Group> groups_{};
};

inline Experiment::Function with_short_errors(Experiment::Function run) {
  return [run = std::move(run)](State& state) {
    try {
      run(state);
    } catch (const c10::Error& error) {
      throw Error(failure_text(error));
    }
  };
}

/// Adds one experiment per collective, over bytes, ranks (the first of the world; the others idle) and dtype.
/// `context` must outlive the registry, here and below.
void add_collectives(Registry& registry, RankContext& context);

/// Adds one per operator ("dispatch.add"), over the axes of DispatchSetup. If HEADROOM_DISPATCH_CALLS is set,
/// a prepared case makes that many calls of each kind, for external counters.
void add_dispatch(Registry& registry, const RankContext& context);

/// Adds one per model ("ddp.resnet18"), over batch_size (per rank), image_size (pixels a side), ranks, ddp
/// (yes, no), bucket_size (bytes) and transport. Backends are gradient reducers. A sample is an iteration
/// with and one without reduction.
void add_ddp(Registry& registry, RankContext& context);

}  // namespace headroom::torch_runner
