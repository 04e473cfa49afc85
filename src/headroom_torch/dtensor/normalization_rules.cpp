// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// The first `count` operands placed so, the others (weights) replicated.
Strategy rows(const Call& call, std::size_t first, std::size_t count, Placement placement) {
  Strategy strategy;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    strategy.operands.push_back(i >= first && i < first + count ? placement : Placement(Replicate()));
  }
  return strategy;
}

}  // namespace

void softmax(const Call& call, Sharding& sharding) {
  const Operand& self = call.operand(0);
  const int whole = call.dim(1, self.dims());
  sharding.results.push_back(sizes_of(self));
  for (int dim = 0; dim < self.dims(); ++dim) {
    if (dim != whole) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

void softmax_backward(const Call& call, Sharding& sharding) {
  const Operand& gradient = call.operand(0);
  const int whole = call.dim(2, gradient.dims());
  sharding.results.push_back(sizes_of(gradient));
  for (int dim = 0; dim < gradient.dims(); ++dim) {
    if (dim != whole) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

// (input, normalized_shape, weight?, bias?, eps) -> (output, mean, reciprocal deviation)
void layer_norm(const Call& call, Sharding& sharding) {
  const Operand& input = call.operand(0);
  const int leading = input.dims() - static_cast<int>(call.integers(1).size());
  const Sizes sizes(input.sizes.begin(), input.sizes.end());
  Sizes moments = sizes;
  for (int dim = leading; dim < input.dims(); ++dim) moments[static_cast<std::size_t>(dim)] = 1;
  sharding.results = {sizes, moments, moments};
  for (int dim = 0; dim < leading; ++dim) {
    Strategy strategy = rows(call, 0, 1, Shard(dim));
    strategy.results.assign(3, Shard(dim));
    sharding.strategies.push_back(std::move(strategy));
  }
}

// (gradient, input, normalized_shape, mean, reciprocal deviation, weight?, bias?, mask) -> gradients of
// input, weight, bias
void layer_norm_backward(const Call& call, Sharding& sharding) {
  const Operand& input = call.operand(1);
  const Sizes normalized = call.integers(2);
  sharding.results = {Sizes(input.sizes.begin(), input.sizes.end()), normalized, normalized};
  for (int dim = 0; dim < input.dims() - static_cast<int>(normalized.size()); ++dim) {
    Strategy strategy = rows(call, 0, 4, Shard(dim));
    strategy.results.push_back(Shard(dim));
    strategy.results.append(2, Partial());
    strategy.condition = Condition::kNonEmpty;  // ATen leaves the weights' gradients of no rows undefined
    sharding.strategies.push_back(std::move(strategy));
  }
}

}  // namespace headroom::torch_runner::dtensor
