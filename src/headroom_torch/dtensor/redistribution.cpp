// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/redistribution.h"

#include <ATen/ATen.h>

#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {
namespace {

at::Tensor with_first(const at::Tensor& tensor, int dim) {
  return tensor.movedim(dim, 0).contiguous();
}

at::Tensor bytes_of(const at::Tensor& contiguous) {
  return contiguous.view({-1}).view(at::kByte);
}

std::int64_t row_bytes(const at::Tensor& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(tensor.element_size());
  for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) bytes *= tensor.size(dim);
  return bytes;
}

/// sent[r] bytes of `from` go to rank r, received[r] come from it.
at::Tensor exchange(const Group& group, const at::Tensor& from, std::vector<std::int64_t> sent,
                    std::vector<std::int64_t> received) {
  std::int64_t total = 0;
  for (const std::int64_t count : received) total += count;
  at::Tensor bytes = bytes_of(from);
  at::Tensor to = at::empty({total}, bytes.options());
  run_collective(group, "all_to_all", bytes, to, [&](CollectiveBackend& backend) {
    return backend.alltoall_base(to, bytes, received, sent);
  });
  return to;
}

at::Tensor reduce(const at::Tensor& stacked, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return stacked.sum(0, false, stacked.scalar_type());
    case ReduceOp::kAvg:
      return stacked.mean(0);
    case ReduceOp::kMax:
      return stacked.amax(0);
    case ReduceOp::kMin:
      return stacked.amin(0);
    case ReduceOp::kProduct:
      return stacked.prod(0, false, stacked.scalar_type());
  }
  return {};
}

c10d::ReduceOp::RedOpType backend_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
    case ReduceOp::kProduct:
      return c10d::ReduceOp::PRODUCT;
    default:
      return c10d::ReduceOp::SUM;  // an average is a sum, then divided
  }
}

at::ScalarType reduced_as(at::ScalarType type) {
  if (type == at::kBFloat16) return at::kFloat;
  return type == at::kBool ? at::kByte : type;
}

struct Step {
  const Group& group;
  c10::IntArrayRef sizes;  // of the part that the group's ranks share
};

at::Tensor shard_of(const Step& step, const at::Tensor& whole, int dim) {
  const Extent mine = chunk(whole.size(dim), step.group.size(), step.group.index);
  return whole.narrow(dim, mine.offset, mine.size).clone(at::MemoryFormat::Contiguous);
}

at::Tensor partial_of(const Step& step, const at::Tensor& whole, ReduceOp op) {
  const bool first = step.group.index == 0;
  if (op == ReduceOp::kSum && !first) return at::zeros_like(whole);
  if (op == ReduceOp::kProduct && !first) return at::ones_like(whole);
  return whole.clone();  // exact for average, maximum and minimum
}

/// Zero outside the shard.
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
  return a == b || (is_linear(a) && is_linear(b));
}

/// `inner` must be gathered before an outer dimension changes: both cut the same tensor dimension, or their
/// reductions do not commute.
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

at::Tensor all_gather(const Group& group, const at::Tensor& shard, int dim, std::int64_t whole) {
  const at::Tensor mine = with_first(shard, dim);
  const std::int64_t row = row_bytes(mine);
  // Ranks send the largest shard's size; the padding ends up at the end.
  const std::int64_t most = chunk(whole, group.size(), 0).size * row;
  at::Tensor bytes = bytes_of(mine);
  if (bytes.numel() < most) bytes = at::cat({bytes, bytes.new_empty({most - bytes.numel()})});
  const at::Tensor all = at::empty({most * group.size()}, bytes.options());
  std::vector<std::vector<at::Tensor>> pieces{all.chunk(group.size())};
  std::vector<at::Tensor> sent{bytes};
  if (most > 0)
    run_collective(group, "all_gather", bytes, all,
                   [&](CollectiveBackend& backend) { return backend.allgather(pieces, sent); });
  std::vector<std::int64_t> sizes = mine.sizes().vec();
  sizes[0] = whole;
  return all.narrow(0, 0, whole * row).view(mine.scalar_type()).view(sizes).movedim(0, dim).contiguous();
}

at::Tensor all_reduce(const Group& group, const at::Tensor& part, ReduceOp op) {
  const at::ScalarType type = part.scalar_type();
  std::vector<at::Tensor> reduced{
      part.to(reduced_as(type), /*non_blocking=*/false, /*copy=*/true).contiguous()};
  c10d::AllreduceOptions options;
  options.reduceOp = backend_op(op);
  if (part.numel() > 0)
    run_collective(group, "all_reduce", part, part,
                   [&](CollectiveBackend& backend) { return backend.allreduce(reduced, options); });
  if (op == ReduceOp::kAvg) reduced[0].div_(group.size());
  return reduced[0].to(type);
}

at::Tensor reduce_scatter(const Group& group, const at::Tensor& part, int dim, ReduceOp op) {
  const at::Tensor rows = with_first(part, dim);
  const std::int64_t row = row_bytes(rows);
  const std::int64_t mine = chunk(rows.size(0), group.size(), group.index).size;
  std::vector<std::int64_t> sent;
  for (int rank = 0; rank < group.size(); ++rank)
    sent.push_back(chunk(rows.size(0), group.size(), rank).size * row);
  const at::Tensor received = exchange(
      group, rows, sent, std::vector<std::int64_t>(static_cast<std::size_t>(group.size()), mine * row));
  std::vector<std::int64_t> sizes = rows.sizes().vec();
  sizes[0] = mine;
  sizes.insert(sizes.begin(), group.size());
  return reduce(received.view(rows.scalar_type()).view(sizes), op).movedim(0, dim).contiguous();
}

at::Tensor all_to_all(const Group& group, const at::Tensor& shard, int from, std::int64_t whole, int to) {
  const at::Tensor rows = with_first(shard, to);
  const std::int64_t row = row_bytes(rows);
  const std::int64_t mine = chunk(rows.size(0), group.size(), group.index).size;
  const std::size_t place = static_cast<std::size_t>(from < to ? from + 1 : from);
  std::int64_t rest = static_cast<std::int64_t>(rows.element_size());  // bytes of a row, per index of `from`
  for (std::size_t dim = 1; dim < static_cast<std::size_t>(rows.dim()); ++dim) {
    if (dim != place) rest *= rows.size(static_cast<std::int64_t>(dim));
  }
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
  for (int rank = 0; rank < group.size(); ++rank) {
    sent.push_back(chunk(rows.size(0), group.size(), rank).size * row);
    received.push_back(chunk(whole, group.size(), rank).size * mine * rest);
  }
  const at::Tensor bytes = exchange(group, rows, sent, received);
  std::vector<at::Tensor> pieces;
  std::int64_t offset = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    std::vector<std::int64_t> sizes = rows.sizes().vec();
    sizes[0] = mine;
    sizes[place] = chunk(whole, group.size(), rank).size;
    const std::int64_t count = received[static_cast<std::size_t>(rank)];
    pieces.push_back(bytes.narrow(0, offset, count).view(rows.scalar_type()).view(sizes).movedim(0, to));
    offset += count;
  }
  return at::cat(pieces, from);
}

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
