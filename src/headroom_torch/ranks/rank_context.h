// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "headroom/experiment/experiment.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// What the experiments of a rank share. The world is there once the ranks have met.
class RankContext {
 public:
  explicit RankContext(RankPlace of) : place(std::move(of)) {}

  RankPlace place;
  dtensor::WorldPtr world{};
  std::string trace{};  ///< folder for a trace of what is sampled now; empty: it is a sample

  /// The first so many ranks of the world, connected once for each `name` (for messages) and transport. All
  /// of them must ask for it, in the same order.
  const dtensor::Group& first(int ranks, const std::string& name, dtensor::Transport transport);
  /// How many of the first so many ranks share the memory of this rank's machine.
  int ranks_here(int ranks) const { return std::min(place.local_size.value_or(place.size), ranks); }

 private:
  std::map<std::tuple<int, std::string, dtensor::Transport>, dtensor::Group> groups_{};
};

/// The experiment's function, with what libtorch throws as an Error in few words.
Experiment::Function in_few_words(Experiment::Function run);

}  // namespace headroom::torch_runner
