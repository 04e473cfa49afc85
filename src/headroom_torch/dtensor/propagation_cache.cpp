// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/propagation_cache.h"

#include <utility>

#include "headroom_torch/dtensor/propagation.h"

namespace headroom::torch_runner::dtensor {

const OpTraits& PropagationCache::traits(const c10::OperatorHandle& op) {
  std::unique_ptr<const OpTraits>& found = ops_[&op.schema()];
  if (!found) found = std::make_unique<const OpTraits>(traits_of(op));
  return *found;
}

void PropagationCache::insert(std::unique_ptr<Plan> plan, std::uint64_t hash) {
  std::unique_ptr<Plan>& first = plans_[hash];
  plan->next = std::move(first);
  first = std::move(plan);
  ++size_;
}

void PropagationCache::clear() {
  plans_.clear();
  size_ = 0;
}

PropagationCache::PropagationCache() = default;
PropagationCache::~PropagationCache() = default;

}  // namespace headroom::torch_runner::dtensor
