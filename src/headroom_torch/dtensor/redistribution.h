// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/spec.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

// Collectives of plain tensors over a group of at least two ranks; shards may have any size. `whole` is the
// size of a dimension over all ranks, cut by chunk(). Values of every dtype are exchanged as bytes. Every
// rank of the group makes the same calls in the same order; each throws Error after the time-out of the
// group.

/// Concatenates the shards of dimension `dim`.
at::Tensor all_gather(const Group& group, const at::Tensor& shard, int dim, std::int64_t whole);

/// Reduces elementwise over the ranks, to every rank. Gloo in 1.13 cannot reduce bf16 and bool, which go as
/// float and as bytes.
at::Tensor all_reduce(const Group& group, const at::Tensor& part, ReduceOp op);

/// Reduces elementwise over the ranks and returns this rank's shard of dimension `dim`. Gloo in 1.13 has no
/// reduce-scatter, so the shards are exchanged by all-to-all and reduced here: half the bytes of an
/// all-reduce.
at::Tensor reduce_scatter(const Group& group, const at::Tensor& part, int dim, ReduceOp op);

/// From shards of dimension `from` (of size `whole` over all ranks) to shards of dimension `to`.
at::Tensor all_to_all(const Group& group, const at::Tensor& shard, int from, std::int64_t whole, int to);

/// Returns this rank's part of a tensor of `sizes` after moving it between placements; collective over the
/// mesh dimensions that change. Returns `local` itself if nothing moves, else shares no memory with it.
at::Tensor move_local(const at::Tensor& local, const DeviceMesh& mesh, c10::IntArrayRef sizes,
                      const Placements& from, const Placements& to);

/// Estimates the microseconds to change the placement along one mesh dimension of n ranks. `bytes` is the
/// size of the part of a rank if replicated along it. A message costs 100 µs + 2 ns a byte (gloo between two
/// processes of one machine: 98 µs for 4 bytes, 0.5 GB/s for 64 MiB), a copy 0.1 ns a byte. On one
/// rank nothing moves; a change costs a nanosecond, so that useless changes are avoided.
///
///   Replicate → Shard: a copy of 1/n;  → Partial: a copy        Shard → Partial(sum): a copy
///   Shard → Replicate: (n-1)/n of the bytes sent                Shard → Shard: (n-1)/n²
///   Partial → Shard: (n-1)/n                                    Partial → Replicate: twice as much, two
///   messages
double move_cost(double bytes, int n, Placement from, Placement to);

}  // namespace headroom::torch_runner::dtensor
