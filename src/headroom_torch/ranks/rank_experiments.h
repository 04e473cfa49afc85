// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// State shared by the experiments of a rank. `world` is null until the ranks have met.
class RankContext {
 public:
  explicit RankContext(RankPlace of) : place(std::move(of)) {}

  RankPlace place;
  dtensor::WorldPtr world{};
  std::string trace{};  ///< folder for a trace of the current call; empty for a sample

  /// Returns the group of the first `ranks` ranks, connected once for each `name` (for messages) and
  /// transport. All of them must call it in the same order.
  const dtensor::Group& first(int ranks, const std::string& name, dtensor::Transport transport);
  /// Number of the first `ranks` ranks that share the memory of this rank's machine.
  int ranks_here(int ranks) const { return std::min(place.local_size.value_or(place.size), ranks); }

 private:
  std::map<std::tuple<int, std::string, dtensor::Transport>, dtensor::Group> groups_{};
};

/// Wraps `run` so that libtorch's exceptions become short Errors.
Experiment::Function in_few_words(Experiment::Function run);

/// Adds an experiment for each collective, over the axes bytes, ranks (the first ones of the world; the
/// others idle) and dtype. `context` must outlive the registry; its world is used when a case is prepared.
void add_collectives(Registry& registry, RankContext& context);

/// Adds an experiment for each operator of the panel ("dispatch.add"), over the axes of DispatchSetup.
/// `context` must outlive the registry; its world is used when a case is prepared. If HEADROOM_DISPATCH_CALLS
/// is set, a prepared case makes that many calls of each kind at once, for external counters.
void add_dispatch(Registry& registry, const RankContext& context);

/// Adds an experiment for each model ("ddp.resnet18"), over the axes batch_size (of a rank), image_size
/// (pixels a side, for models that take images), ranks (the first ones of the world; the others idle), ddp
/// (yes, no), bucket_size (bytes) and transport. Its backends are gradient reducers. A sample is an iteration
/// with and one without reduction. `context` must outlive the registry.
void add_ddp(Registry& registry, RankContext& context);

}  // namespace headroom::torch_runner
