// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/placement.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

// Collectives of plain tensors over a group of two ranks or more, all sizes of shards right. `whole` is the
// size of a dimension over all ranks, cut as chunk() says. Values of every dtype are exchanged as bytes.
// Every rank of the group calls the same in the same order; each throws Error when they did not within the
// time-out of the group.

/// The shards of dimension `dim`, put together.
at::Tensor all_gather(const Group& group, const at::Tensor& shard, int dim, std::int64_t whole);

/// Elements reduced over the ranks, on every rank. 1.13's gloo reduces neither bf16 nor bool: as float, as
/// bytes.
at::Tensor all_reduce(const Group& group, const at::Tensor& part, ReduceOp op);

/// This rank's shard of dimension `dim` of the elements reduced over the ranks. 1.13's gloo has no
/// reduce-scatter: the shards are exchanged with all-to-all and reduced here, half of the bytes that
/// all-reduce moves.
at::Tensor reduce_scatter(const Group& group, const at::Tensor& part, int dim, ReduceOp op);

/// From shards of dimension `from` (of size `whole` over all ranks) to shards of dimension `to`.
at::Tensor all_to_all(const Group& group, const at::Tensor& shard, int from, std::int64_t whole, int to);

}  // namespace headroom::torch_runner::dtensor
