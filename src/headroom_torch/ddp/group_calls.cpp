// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/group_calls.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/noted_call.h"
#include "headroom_torch/failure_text.h"

namespace headroom::torch_runner {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

[[noreturn]] void refuse(const dtensor::Group& group, const char* what, const std::exception& error) {
  throw Error(fmt::format("{} over the ranks {} failed, or took more than {} ms, on rank {}: {}", what,
                          fmt::join(group.ranks, ", "), group.timeout.count(),
                          group.ranks[static_cast<std::size_t>(group.index)], failure_text(error)));
}

template <typename Start>
void call(const dtensor::Group& group, const char* what, const char* op, const at::Tensor& data,
          Start&& start) {
  if (group.size() == 1) return;
  dtensor::NotedCall note(group, op, at::toString(data.scalar_type()), data.numel(), data.numel());
  try {
    const auto work = start(*group.connection->backend);
    note.started();
    work->wait();
    note.completed();
  } catch (const std::exception& error) {
    refuse(group, what, error);
  }
}

at::Tensor tensor_over(std::vector<std::int64_t>& numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kLong);
}

}  // namespace

void PendingCall::wait(const dtensor::Group& group, const char* what) {
  if (!work_) return;
  const auto work = std::static_pointer_cast<WorkPointer>(std::move(work_));
  work_.reset();
  try {
    (*work)->wait();
  } catch (const std::exception& error) {
    refuse(group, what, error);
  }
}

PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat,
                      const std::shared_ptr<std::atomic<std::int64_t>>& completed_ns) {
  PendingCall pending;
  const auto note = std::make_shared<dtensor::NotedCall>(
      group, "all_reduce", at::toString(flat.scalar_type()), flat.numel(), flat.numel());
  try {
    std::vector<at::Tensor> tensors{flat};
    WorkPointer work = group.connection->backend->allreduce(tensors, {});
    note->started();
    work->getFuture()->addCallback([completed_ns, note](c10::ivalue::Future& future) {
      if (!future.hasError()) note->completed();
      completed_ns->store(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
    });
    pending.work_ = std::make_shared<WorkPointer>(std::move(work));
  } catch (const std::exception& error) {
    refuse(group, "the reduction of gradients", error);
  }
  return pending;
}

void meet(const dtensor::Group& group) {
  dtensor::barrier(group);
}

void copy_of_first(const dtensor::Group& group, at::Tensor tensor) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  call(group, "a broadcast", "broadcast", tensors[0],
       [&](CollectiveBackend& backend) { return backend.broadcast(tensors, {}); });
}

void copy_of_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  copy_of_first(group, tensor_over(numbers));
}

void largest_of(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  std::vector<at::Tensor> tensors{tensor_over(numbers)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  call(group, "an all-reduce", "all_reduce", tensors[0],
       [&](CollectiveBackend& backend) { return backend.allreduce(tensors, options); });
}

}  // namespace headroom::torch_runner
