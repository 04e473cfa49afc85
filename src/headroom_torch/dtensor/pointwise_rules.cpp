// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

bool is_linear(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kAvg;
}

Sizes broadcast_sizes(const Call& call) {
  Sizes sizes;
  for (const Operand& operand : call.operands) {
    while (sizes.size() < operand.sizes.size()) sizes.insert(sizes.begin(), 1);
    const std::size_t shift = sizes.size() - operand.sizes.size();
    for (std::size_t dim = 0; dim < operand.sizes.size(); ++dim) {
      std::int64_t& size = sizes[dim + shift];
      if (size == 1) size = operand.sizes[dim];
      if (operand.sizes[dim] != 1 && operand.sizes[dim] != size) {
        throw Error("operands of sizes that do not broadcast, " + std::to_string(size) + " and " +
                    std::to_string(operand.sizes[dim]) +
                    " in one dimension: make them equal, or one of them 1");
      }
    }
  }
  return sizes;
}

/// Dimension `dim` of the result is sharded in every operand that has it.
void add_shards(const Call& call, Sharding& sharding) {
  const Sizes& sizes = sharding.results[0];
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    Strategy strategy;
    for (const Operand& operand : call.operands) {
      const std::size_t shift = sizes.size() - operand.sizes.size();
      const bool has = dim >= shift && operand.sizes[dim - shift] == sizes[dim];
      strategy.operands.push_back(has ? Placement(Shard(static_cast<int>(dim - shift)))
                                      : Placement(Replicate()));
    }
    strategy.results.assign(1, Shard(static_cast<int>(dim)));
    sharding.strategies.push_back(std::move(strategy));
  }
}

/// Partial sums of one operand; the others replicated.
void add_partial_of(const Call& call, Sharding& sharding, std::size_t which) {
  for_each_partial(call, [&](ReduceOp op) {
    if (!is_linear(op)) return;
    Strategy strategy;
    strategy.operands.assign(call.operands.size(), Replicate());
    strategy.operands[which] = Partial(op);
    strategy.results.assign(1, Partial(op));
    sharding.strategies.push_back(std::move(strategy));
  });
}

}  // namespace

Sizes sizes_of(const Operand& operand) {
  return Sizes(operand.sizes.begin(), operand.sizes.end());
}

void add_uniform(const Call& call, Sharding& sharding, Placement operand, Placement result,
                 Condition condition) {
  Strategy strategy;
  strategy.operands.assign(call.operands.size(), operand);
  strategy.results.assign(sharding.results.size(), result);
  strategy.condition = condition;
  sharding.strategies.push_back(std::move(strategy));
}

void add_partials(const Call& call, Sharding& sharding, bool linear) {
  for_each_partial(call, [&](ReduceOp op) {
    if (!linear || is_linear(op)) add_uniform(call, sharding, Partial(op), Partial(op));
  });
}

void pointwise(const Call& call, Sharding& sharding) {
  sharding.results.push_back(broadcast_sizes(call));
  add_shards(call, sharding);
}

void pointwise_linear(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partial_of(call, sharding, 0);
}

void pointwise_sum(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, true);
}

void pointwise_product(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for (std::size_t which = 0; which < call.operands.size(); ++which) add_partial_of(call, sharding, which);
}

void pointwise_quotient(const Call& call, Sharding& sharding) {
  pointwise_linear(call, sharding);
}

void cast(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  const at::ScalarType from = call.operand(0).dtype;
  const at::ScalarType to = call.arguments[1].isNone() ? from : call.arguments[1].toScalarType();
  if (to == from) return add_partials(call, sharding, false);
  if (at::isFloatingType(to) && at::isFloatingType(from)) add_partials(call, sharding, true);
}

void unary_any(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, false);
}

void like(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for_each_partial(call, [&](ReduceOp op) { add_uniform(call, sharding, Partial(op), Replicate()); });
}

namespace {

/// The placement of a new tensor of other sizes beside an operand: sharded as that is where it has as much of
/// the dimension, so that no rank makes the whole.
Placement kept_shard(const Operand& operand, Placement placement, const Sizes& sizes) {
  if (!placement.is_shard() || operand.sizes.size() != sizes.size()) return Replicate();
  const auto dim = static_cast<std::size_t>(placement.dim());
  return operand.sizes[dim] == sizes[dim] ? placement : Placement(Replicate());
}

}  // namespace

void new_of_sizes(const Call& call, Sharding& sharding) {
  const Sizes sizes = call.integers(1);
  if (call.operand(0).sizes == c10::IntArrayRef(sizes)) {
    like(call, sharding);
  } else {
    sharding.results.push_back(sizes);
    for (const Placement placement : call.operand(0).spec->placements) {
      add_uniform(call, sharding, placement, kept_shard(call.operand(0), placement, sizes));
    }
  }
  sharding.sizes_argument = 1;
}

void new_strided(const Call& call, Sharding& sharding) {
  new_of_sizes(call, sharding);
  sharding.strides_argument = 2;
}

}  // namespace headroom::torch_runner::dtensor
