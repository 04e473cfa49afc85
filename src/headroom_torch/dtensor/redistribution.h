// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/spec.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

// Collectives of plain tensors over at least two ranks; shards may have any size. `whole`: a dimension's size
// over all ranks, cut by chunk(). All ranks must make the same calls in order; each throws Error after the
// group's time-out.

at::Tensor all_gather(const Group& group, const at::Tensor& shard, int dim, std::int64_t whole);

/// bf16 and bool travel as float and bytes: gloo 1.13 cannot reduce them.
at::Tensor all_reduce(const Group& group, const at::Tensor& part, ReduceOp op);

/// This rank's shard of dimension `dim`. For gloo 1.13 an all-to-all and a local reduction: half the bytes of
/// an all-reduce.
at::Tensor reduce_scatter(const Group& group, const at::Tensor& part, int dim, ReduceOp op);

/// Converts shards of dimension `from` to shards of `to`.
at::Tensor all_to_all(const Group& group, const at::Tensor& shard, int from, std::int64_t whole, int to);

/// This rank's part of a tensor of `sizes` with other placements; collective over the mesh dimensions that
/// change. Returns `local` if nothing moves, else new memory.
at::Tensor move_local(const at::Tensor& local, const DeviceMesh& mesh, c10::IntArrayRef sizes,
                      const Placements& from, const Placements& to);

/// Estimates the µs to change a placement along a mesh dimension of n ranks. `bytes`: size of a rank's part
/// if replicated along it. A message costs 100 µs + 2 ns a byte (gloo between two processes: 98 µs for 4
/// bytes, 0.5 GB/s for 64 MiB), a copy 0.1 ns a byte, a change on one rank 1 ns.
///
///   Replicate → Shard: a copy of 1/n;  → Partial: a copy        Shard → Partial(sum): a copy
///   Shard → Replicate: (n-1)/n of the bytes sent                Shard → Shard: (n-1)/n²
///   Partial → Shard: (n-1)/n                                    Partial → Replicate: two messages of (n-1)/n
double move_cost(double bytes, int n, Placement from, Placement to);

}  // namespace headroom::torch_runner::dtensor
