// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "headroom_torch/dtensor/spec.h"

namespace headroom::torch_runner::dtensor {

/// This rank's part of a tensor of `sizes` after it went from one placement to another; collective over the
/// mesh dimensions that change. May be `local` itself where nothing moves, else shares no memory with it.
at::Tensor move_local(const at::Tensor& local, const DeviceMesh& mesh, c10::IntArrayRef sizes,
                      const Placements& from, const Placements& to);

/// Microseconds, roughly, to change the placement along one mesh dimension of n ranks, of a tensor of which a
/// rank holds `bytes` where it is replicated along it. A message costs 100 µs + 2 ns a byte (gloo between two
/// processes of one machine: 98 µs for 4 bytes, 0.5 GB/s for 64 MiB), a copy 0.1 ns a byte. On one
/// rank nothing moves, and a change costs a nanosecond, so that none is made for nothing.
///
///   Replicate → Shard: a copy of 1/n;  → Partial: a copy        Shard → Partial(sum): a copy
///   Shard → Replicate: (n-1)/n of the bytes sent                Shard → Shard: (n-1)/n²
///   Partial → Shard: (n-1)/n                                    Partial → Replicate: twice as much, two
///   messages
double move_cost(double bytes, int n, Placement from, Placement to);

}  // namespace headroom::torch_runner::dtensor
