// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/redistribution.h"

#include <ATen/ATen.h>

#include "headroom_torch/dtensor/collectives.h"
#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// A tensor along one mesh dimension: what `from` describes, with sizes of the part that the outer dimensions
/// cut.
struct Step {
  const Group& group;
  c10::IntArrayRef sizes;  // of what the group's ranks share
};

at::Tensor shard_of(const Step& step, const at::Tensor& whole, int dim) {
  const Extent mine = chunk(whole.size(dim), step.group.size(), step.group.index);
  return whole.narrow(dim, mine.offset, mine.size).clone(at::MemoryFormat::Contiguous);
}

at::Tensor partial_of(const Step& step, const at::Tensor& whole, ReduceOp op) {
  const bool first = step.group.index == 0;
  if (op == ReduceOp::kSum && !first) return at::zeros_like(whole);
  if (op == ReduceOp::kProduct && !first) return at::ones_like(whole);
  return whole.clone();  // the average, the maximum and the minimum of equal values are that value
}

/// A shard as a summand: zeros but where it is.
at::Tensor padded(const Step& step, const at::Tensor& shard, int dim) {
  at::Tensor summand = at::zeros(step.sizes, shard.options());
  const Extent mine = chunk(step.sizes[static_cast<std::size_t>(dim)], step.group.size(), step.group.index);
  summand.narrow(dim, mine.offset, mine.size).copy_(shard);
  return summand;
}

at::Tensor change(const Step& step, const at::Tensor& part, Placement from, Placement to) {
  if (step.group.size() == 1) return part;
  if (from.is_replicate())
    return to.is_shard() ? shard_of(step, part, to.dim()) : partial_of(step, part, to.op());
  if (from.is_shard()) {
    const std::int64_t whole = step.sizes[static_cast<std::size_t>(from.dim())];
    if (to.is_shard()) return all_to_all(step.group, part, from.dim(), whole, to.dim());
    if (to.is_partial(ReduceOp::kSum)) return padded(step, part, from.dim());
    const at::Tensor gathered = all_gather(step.group, part, from.dim(), whole);
    return to.is_replicate() ? gathered : partial_of(step, gathered, to.op());
  }
  if (to.is_shard()) return reduce_scatter(step.group, part, to.dim(), from.op());
  const at::Tensor reduced = all_reduce(step.group, part, from.op());
  return to.is_replicate() ? reduced : partial_of(step, reduced, to.op());
}

bool commute(ReduceOp a, ReduceOp b) {
  const auto linear = [](ReduceOp op) { return op == ReduceOp::kSum || op == ReduceOp::kAvg; };
  return a == b || (linear(a) && linear(b));
}

/// Whether what mesh dimension `inner` holds must be put together before an outer one changes: pieces of a
/// dimension that the outer one is about to cut in another way, which are pieces of its pieces; or parts of
/// its parts, where the two reductions do not commute.
bool gathers_first(const Placements& from, const Placements& to, std::size_t inner) {
  const Placement mine = from[inner];
  for (std::size_t outer = 0; outer < inner; ++outer) {
    if (from[outer] == to[outer]) continue;
    if (mine.is_shard() && (from[outer].is_shard(mine.dim()) || to[outer].is_shard(mine.dim()))) return true;
    if (mine.is_partial() && from[outer].is_partial() && !commute(mine.op(), from[outer].op())) return true;
  }
  return false;
}

at::Tensor change(const at::Tensor& part, const DeviceMesh& mesh, c10::IntArrayRef sizes, Placements& from,
                  std::size_t mesh_dim, Placement to) {
  Sizes shared = local_sizes(mesh, from, sizes);
  if (from[mesh_dim].is_shard()) {
    const auto dim = static_cast<std::size_t>(from[mesh_dim].dim());
    shared[dim] = local_extent(mesh, from, sizes, from[mesh_dim].dim(), static_cast<int>(mesh_dim)).size;
  }
  const at::Tensor changed =
      change(Step{mesh.group(static_cast<int>(mesh_dim)), shared}, part, from[mesh_dim], to);
  from[mesh_dim] = to;
  return changed;
}

}  // namespace

at::Tensor move_local(const at::Tensor& local, const DeviceMesh& mesh, c10::IntArrayRef sizes,
                      const Placements& from, const Placements& to) {
  at::Tensor part = local;
  Placements now = from;
  for (std::size_t inner = now.size(); inner-- > 0;) {
    if (gathers_first(from, to, inner)) part = change(part, mesh, sizes, now, inner, Replicate());
  }
  for (std::size_t mesh_dim = 0; mesh_dim < now.size(); ++mesh_dim) {
    if (now[mesh_dim] != to[mesh_dim]) part = change(part, mesh, sizes, now, mesh_dim, to[mesh_dim]);
  }
  return part;
}

double move_cost(double bytes, int n, Placement from, Placement to) {
  constexpr double kMessage = 100;
  constexpr double kSentByte = 2e-3;
  constexpr double kCopiedByte = 1e-4;
  constexpr double kRelabel = 1e-3;
  if (from == to) return 0;
  if (n == 1) return kRelabel;
  const double others = static_cast<double>(n - 1) / n;
  if (from.is_replicate()) return kCopiedByte * (to.is_shard() ? bytes / n : bytes);
  if (from.is_shard() && to.is_shard()) return kMessage + kSentByte * bytes * others / n;
  const double copied = to.is_partial() ? kCopiedByte * bytes : 0;
  if (from.is_shard())
    return copied + (to.is_partial(ReduceOp::kSum) ? 0 : kMessage + kSentByte * bytes * others);
  if (to.is_shard()) return kMessage + kSentByte * bytes * others;
  return copied + 2 * (kMessage + kSentByte * bytes * others);
}

}  // namespace headroom::torch_runner::dtensor
