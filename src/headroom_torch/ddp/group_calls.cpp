// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/group_calls.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <stdexcept>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/noted_call.h"
#include "headroom_torch/tensors/failure_text.h"

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
    if (!group.device.is_cpu()) dtensor::await_device(group.device);
    note.completed();
  } catch (const std::exception& error) {
    refuse(group, what, error);
  }
}

at::Tensor tensor_over(std::vector<std::int64_t>& numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kLong);
}

}  // namespace

struct PendingCall::State {
  /// What the thread that completes a collective of gloo writes to; apart from `work`, which holds that
  /// thread's callback.
  struct Account {
    Account(const dtensor::Group& group, const at::Tensor& flat)
        : note(group, "all_reduce", at::toString(flat.scalar_type()), flat.numel(), flat.numel()) {}
    dtensor::NotedCall note;
    std::atomic<std::int64_t> completed_ns = 0;
  };

  std::shared_ptr<Account> account;
  WorkPointer work;
  dtensor::DeviceEvent completed;  ///< NCCL's
};

void PendingCall::wait(const dtensor::Group& group, const char* what) {
  if (!state_ || !state_->work) return;
  const WorkPointer work = std::move(state_->work);
  state_->work.reset();
  try {
    work->wait();
  } catch (const std::exception& error) {
    refuse(group, what, error);
  }
}

Moment PendingCall::completed() {
  if (!state_) throw std::logic_error("a collective that was not started has no end");
  const auto state = std::move(state_);
  state_.reset();
  if (!state->completed) return {state->account->completed_ns.load()};
  state->account->note.completed();
  return {0, state->completed};
}

PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat) {
  PendingCall pending;
  const auto state = std::make_shared<PendingCall::State>();
  const auto account = std::make_shared<PendingCall::State::Account>(group, flat);
  state->account = account;
  try {
    std::vector<at::Tensor> tensors{flat};
    state->work = group.connection->backend->allreduce(tensors, {});
    account->note.started();
    if (group.device.is_cpu()) {
      state->work->getFuture()->addCallback([account](c10::ivalue::Future& future) {
        if (!future.hasError()) account->note.completed();
        account->completed_ns.store(steady_now_ns());
      });
    } else {
      state->completed = dtensor::record_event_behind(group.device, [&] { state->work->wait(); });
    }
    pending.state_ = state;
  } catch (const std::exception& error) {
    refuse(group, "the reduction of gradients", error);
  }
  return pending;
}

void meet(const dtensor::Group& group) {
  dtensor::barrier(group);
  if (!group.device.is_cpu()) dtensor::await_device(group.device);
}

void copy_of_first(const dtensor::Group& group, at::Tensor tensor) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  call(group, "a broadcast", "broadcast", tensors[0],
       [&](CollectiveBackend& backend) { return backend.broadcast(tensors, {}); });
}

void copy_of_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  at::Tensor host = tensor_over(numbers);
  const at::Tensor there = host.to(group.device);
  copy_of_first(group, there);
  if (!there.is_same(host)) host.copy_(there);
}

void largest_of(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  at::Tensor host = tensor_over(numbers);
  std::vector<at::Tensor> tensors{host.to(group.device)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  call(group, "an all-reduce", "all_reduce", tensors[0],
       [&](CollectiveBackend& backend) { return backend.allreduce(tensors, options); });
  if (!tensors[0].is_same(host)) host.copy_(tensors[0]);
}

void require_same(const dtensor::Group& group, std::uint64_t checksum, const std::string& what) {
  std::vector<std::int64_t> checksums(static_cast<std::size_t>(group.size()), -1);
  checksums[static_cast<std::size_t>(group.index)] = static_cast<std::int64_t>(checksum >> 1);
  largest_of(group, checksums);
  for (std::size_t i = 1; i < checksums.size(); ++i) {
    if (checksums[i] == checksums.front()) continue;
    throw Error(fmt::format("rank {} has {} than rank {}", group.ranks[i], what, group.ranks.front()));
  }
}

}  // namespace headroom::torch_runner
