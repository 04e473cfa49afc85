// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/rules.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Whether every operand has dimension `dim`, and as much of it as the first.
bool all_have(const Call& call, int dim) {
  for (const Operand& operand : call.operands) {
    if (dim >= operand.dims() || dim >= call.operand(0).dims()) return false;
    const auto place = static_cast<std::size_t>(dim);
    if (operand.sizes[place] != call.operand(0).sizes[place]) return false;
  }
  return true;
}

/// Shards of the dimensions that are not indexed, where all operands have as much of them: an index in a
/// shard then means a place in the same shard.
void add_shards_beside(const Call& call, Sharding& sharding, int along) {
  for (int dim = 0; dim < call.operand(0).dims(); ++dim) {
    if (dim != along && all_have(call, dim)) add_uniform(call, sharding, Shard(dim), Shard(dim));
  }
}

/// Partial values are picked, and put into partial ones, like others: by indices that every rank has.
void add_picked_partials(const Call& call, Sharding& sharding, bool linear_only) {
  for_each_partial(call, [&](ReduceOp op) {
    if (linear_only && op != ReduceOp::kSum && op != ReduceOp::kAvg) return;
    Strategy strategy{{Partial(op), Replicate()}, {Partial(op)}};
    if (call.operands.size() == 3) strategy.operands.push_back(Partial(op));
    sharding.strategies.push_back(std::move(strategy));
  });
}

}  // namespace

// (self, dim, index, …): the result has the sizes of the indices
void gather(const Call& call, Sharding& sharding) {
  const int along = call.dim(1, call.operand(0).dims());
  sharding.results.push_back(sizes_of(call.operand(1)));
  add_shards_beside(call, sharding, along);
  if (along < call.operand(1).dims())
    sharding.strategies.push_back({{Replicate(), Shard(along)}, {Shard(along)}});
  add_picked_partials(call, sharding, false);
}

// (self, dim, index, source)
void scatter(const Call& call, Sharding& sharding) {
  sharding.results.push_back(sizes_of(call.operand(0)));
  add_shards_beside(call, sharding, call.dim(1, call.operand(0).dims()));
  add_picked_partials(call, sharding, false);
}

// (self, dim, index, value)
void scatter_value(const Call& call, Sharding& sharding) {
  sharding.results.push_back(sizes_of(call.operand(0)));
  add_shards_beside(call, sharding, call.dim(1, call.operand(0).dims()));
}

// (self, dim, index, source)
void scatter_add(const Call& call, Sharding& sharding) {
  const int along = call.dim(1, call.operand(0).dims());
  sharding.results.push_back(sizes_of(call.operand(0)));
  add_shards_beside(call, sharding, along);
  if (along < call.operand(1).dims())
    sharding.strategies.push_back({{Partial(), Shard(along), Shard(along)}, {Partial()}});
  add_picked_partials(call, sharding, true);
}

// (weight, indices, …): rows of the weight
void embedding(const Call& call, Sharding& sharding) {
  const Operand& indices = call.operand(1);
  Sizes sizes = sizes_of(indices);
  sizes.push_back(call.operand(0).sizes[1]);
  sharding.results.push_back(std::move(sizes));
  for (int dim = 0; dim < indices.dims(); ++dim) {
    sharding.strategies.push_back({{Replicate(), Shard(dim)}, {Shard(dim)}});
  }
  sharding.strategies.push_back({{Shard(1), Replicate()}, {Shard(indices.dims())}});
  sharding.strategies.push_back(
      {.operands = {Shard(0), Replicate()}, .results = {Partial()}, .table = Table::kFirstOperand});
  for_each_partial(call, [&](ReduceOp op) {
    sharding.strategies.push_back({{Partial(op), Replicate()}, {Partial(op)}});
  });
}

// (gradient, indices, rows of the weight, padding index, scale by frequency)
void embedding_backward(const Call& call, Sharding& sharding) {
  const Operand& gradient = call.operand(0);
  const Operand& indices = call.operand(1);
  sharding.results.push_back({call.integer(2), gradient.sizes.back()});
  // Where every rank has all of both, the weight was most likely sharded by rows (its look-up gives partial
  // sums, whose gradient is replicated), and each rank needs those of its own rows only.
  sharding.strategies.push_back(
      {.operands = {Replicate(), Replicate()}, .results = {Shard(0)}, .table = Table::kFirstResult});
  sharding.strategies.push_back({{Shard(indices.dims()), Replicate()}, {Shard(1)}});
  // Scaled by how often an index occurs among all: not known of a shard.
  for (int dim = 0; dim < indices.dims() && !call.flag(4); ++dim) {
    sharding.strategies.push_back({{Shard(dim), Shard(dim)}, {Partial()}});
  }
  add_picked_partials(call, sharding, true);
}

}  // namespace headroom::torch_runner::dtensor
