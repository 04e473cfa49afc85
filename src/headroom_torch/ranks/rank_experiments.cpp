// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ranks/rank_experiments.h"

#include <c10/util/Exception.h>

#include <numeric>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {

const dtensor::Group& RankContext::first(int ranks, const std::string& name, dtensor::Transport transport) {
  const std::tuple key(ranks, name, transport);
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return groups_.emplace(key, world->group(all, name, transport)).first->second;
}

Experiment::Function with_short_errors(Experiment::Function run) {
  return [run = std::move(run)](State& state) {
    try {
      run(state);
    } catch (const c10::Error& error) {
      throw Error(failure_text(error));
    }
  };
}

}  // namespace headroom::torch_runner
