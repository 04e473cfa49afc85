// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/collectives.h"

#include <ATen/ATen.h>

#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/noted_call.h"
#include "headroom_torch/dtensor/spec.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Runs what starts a collective, waits for it, and tells its failure as what the user can mend.
template <typename Start>
void finish(const Group& group, const char* what, const at::Tensor& in, const at::Tensor& out,
            Start&& start) {
  NotedCall note(group, what, at::toString(in.scalar_type()), in.numel(), out.numel());
  try {
    const auto work = start();
    note.started();
    work->wait();
    note.completed();
  } catch (const std::exception& error) {
    refuse_call(group, what, error);
  }
}

/// The tensor with `dim` first, its values in that order in memory.
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

/// What the ranks sent here, one after the other: sent[r] bytes of `from` go to rank r, received[r] come from
/// it.
at::Tensor exchange(const Group& group, const at::Tensor& from, std::vector<std::int64_t> sent,
                    std::vector<std::int64_t> received) {
  std::int64_t total = 0;
  for (const std::int64_t count : received) total += count;
  at::Tensor bytes = bytes_of(from);
  at::Tensor to = at::empty({total}, bytes.options());
  finish(group, "all_to_all", bytes, to,
         [&] { return group.connection->backend->alltoall_base(to, bytes, received, sent); });
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
      return c10d::ReduceOp::SUM;  // an average is a sum, divided
  }
}

at::ScalarType reduced_as(at::ScalarType type) {
  if (type == at::kBFloat16) return at::kFloat;
  return type == at::kBool ? at::kByte : type;
}

}  // namespace

at::Tensor all_gather(const Group& group, const at::Tensor& shard, int dim, std::int64_t whole) {
  const at::Tensor mine = with_first(shard, dim);
  const std::int64_t row = row_bytes(mine);
  // Every rank sends the largest shard's bytes: only the last shards are shorter, so what is short is at the
  // end.
  const std::int64_t most = chunk(whole, group.size(), 0).size * row;
  at::Tensor bytes = bytes_of(mine);
  if (bytes.numel() < most) bytes = at::cat({bytes, bytes.new_empty({most - bytes.numel()})});
  const at::Tensor all = at::empty({most * group.size()}, bytes.options());
  std::vector<std::vector<at::Tensor>> pieces{all.chunk(group.size())};
  std::vector<at::Tensor> sent{bytes};
  if (most > 0)
    finish(group, "all_gather", bytes, all,
           [&] { return group.connection->backend->allgather(pieces, sent); });
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
    finish(group, "all_reduce", part, part,
           [&] { return group.connection->backend->allreduce(reduced, options); });
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
  // Where `from` is in `rows`: `to` was moved before it.
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

}  // namespace headroom::torch_runner::dtensor
