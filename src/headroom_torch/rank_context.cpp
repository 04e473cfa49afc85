// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/rank_context.h"

#include <numeric>
#include <vector>

namespace headroom::torch_runner {

const dtensor::Group& RankContext::first(int ranks, const std::string& name, dtensor::Transport transport) {
  const std::tuple key(ranks, name, transport);
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return groups_.emplace(key, world->group(all, name, transport)).first->second;
}

}  // namespace headroom::torch_runner
