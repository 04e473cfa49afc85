// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/reducer.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/tensors/libtorch.h"

// Since 2.0 c10d::Reducer takes a ProcessGroup, not our groups' backend, and its constructor varies.
#if HEADROOM_TORCH_HAS_GLOO && !HEADROOM_TORCH_AT_LEAST(2, 0) && \
    __has_include(<torch/csrc/distributed/c10d/reducer.hpp>)
#define HEADROOM_TORCH_HAS_REDUCER 1
#include <torch/csrc/distributed/c10d/reducer.hpp>
#else
#define HEADROOM_TORCH_HAS_REDUCER 0
#endif

namespace headroom::torch_runner {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

at::Tensor tensor_over(std::vector<std::int64_t>& numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kLong);
}

struct Bucket {
  at::Tensor flat;
  std::vector<std::size_t> members;
  std::size_t missing = 0;  ///< without a gradient in this pass
  PendingCall pending;
  Moment launched, completed;
};

struct Slot {
  at::Tensor view;  ///< into its bucket; undefined if it is in none
  std::size_t bucket = 0;
  bool ready = false;                                     ///< in this pass
  decltype(torch::autograd::Edge::function) accumulator;  ///< the parameter holds it weakly
  std::uintptr_t hook = 0;
};

class BucketReducer final : public GradientReducer {
 public:
  BucketReducer(std::vector<Parameter> parameters, dtensor::Group group, std::int64_t bucket_bytes)
      : parameters_(std::move(parameters)),
        group_(std::move(group)),
        bucket_bytes_(bucket_bytes),
        clock_(group_.device),
        slots_(parameters_.size()),
        share_(at::scalar_to_tensor(1.0 / group_.size())) {
    share_.unsafeGetTensorImpl()->set_wrapped_number(true);
    std::vector<std::size_t> order(parameters_.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    make_buckets(order);
    for (std::size_t i = 0; i < parameters_.size(); ++i) watch(i);
  }

  ~BucketReducer() override {
    for (const Slot& slot : slots_) slot.accumulator->del_post_hook(slot.hook);
  }
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  void begin(Reduction reduction) override {
    reduction_ = reduction;
    next_ = 0;
    observed_.clear();
    for (Slot& slot : slots_) slot.ready = false;
    for (Bucket& bucket : buckets_) bucket.missing = bucket.members.size();
  }

  void finish() override {
    if (reduction_ == Reduction::kAccumulate) return;
    const at::NoGradGuard no_grad;
    for (Bucket& bucket : buckets_) fill_up(bucket);
    launch_full();
    for (Bucket& bucket : buckets_) bucket.pending.wait(group_, "the reduction of gradients");
    if (observing_ && reduction_ == Reduction::kAverage) rebuild();
  }

  std::vector<BucketTimes> times(const WorkClock& clock) override {
    std::vector<BucketTimes> times;
    for (Bucket& bucket : buckets_) {
      if (bucket.pending.is_started()) bucket.completed = bucket.pending.completed();
      times.push_back({static_cast<std::int64_t>(bucket.flat.nbytes()),
                       static_cast<std::int64_t>(bucket.members.size()), clock.ns(bucket.launched),
                       clock.ns(bucket.completed)});
    }
    return times;
  }

  std::vector<std::string> unused() const override { return unused_; }

 private:
  void watch(std::size_t index) {
    Slot& slot = slots_[index];
    slot.accumulator = torch::autograd::impl::grad_accumulator(parameters_[index].value);
    using Variables = torch::autograd::variable_list;
    slot.hook = slot.accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, index](const Variables& outputs, const Variables& /*inputs*/) {
          take(index);
          return outputs;
        }));
  }

  void take(std::size_t index) {
    if (reduction_ == Reduction::kAccumulate) return;
    Slot& slot = slots_[index];
    if (slot.ready) {
      throw Error(
          parameters_[index].name +
          " got two gradients in one pass: call begin() and finish() around every backward pass, with "
          "Reduction::kAccumulate for all but the last");
    }
    if (!slot.view.defined()) {
      throw Error(
          fmt::format("{} got a gradient but is in no bucket, because no rank had a gradient for it in the "
                      "first pass: use every parameter in the first pass",
                      parameters_[index].name));
    }
    slot.ready = true;
    observed_.push_back(index);
    const at::NoGradGuard no_grad;
    at::Tensor& gradient = parameters_[index].value.mutable_grad();
    at::mul_out(slot.view, gradient, share_);
    gradient = slot.view;
    --buckets_[slot.bucket].missing;
    launch_full();
  }

  /// A parameter unused on this rank counts as zero.
  void fill_up(Bucket& bucket) {
    for (const std::size_t index : bucket.members) {
      Slot& slot = slots_[index];
      if (slot.ready) continue;
      at::Tensor& gradient = parameters_[index].value.mutable_grad();
      if (gradient.defined()) {
        at::mul_out(slot.view, gradient, share_);  // accumulated by earlier passes
      } else {
        slot.view.zero_();
      }
      if (!observing_) gradient = slot.view;
    }
    bucket.missing = 0;
  }

  /// In bucket order on all ranks.
  void launch_full() {
    for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) {
      Bucket& bucket = buckets_[next_];
      bucket.launched = bucket.completed = clock_.now();
      if (group_.size() > 1 && reduction_ != Reduction::kLocal)
        bucket.pending = start_sum(group_, bucket.flat);
    }
  }

  void make_buckets(const std::vector<std::size_t>& order) {
    std::vector<std::int64_t> bytes;
    for (const Parameter& parameter : parameters_)
      bytes.push_back(static_cast<std::int64_t>(parameter.value.nbytes()));
    std::vector<Bucket> buckets;
    for (Slot& slot : slots_) slot.view = at::Tensor();
    for (std::vector<std::size_t>& members : plan_buckets(order, bytes, bucket_bytes_)) {
      Bucket& bucket = buckets.emplace_back();
      std::int64_t count = 0;
      for (const std::size_t index : members) count += parameters_[index].value.numel();
      bucket.flat = at::zeros({count}, at::TensorOptions(at::kFloat).device(group_.device));
      std::int64_t offset = 0;
      for (const std::size_t index : members) {
        const at::Tensor& value = parameters_[index].value;
        slots_[index].view = bucket.flat.narrow(0, offset, value.numel()).view(value.sizes());
        slots_[index].bucket = buckets.size() - 1;
        offset += value.numel();
      }
      bucket.members = std::move(members);
    }
    buckets_ = std::move(buckets);
  }

  /// Uses the first rank's order; parameters used only elsewhere follow.
  void rebuild() {
    observing_ = false;
    std::vector<std::int64_t> used(parameters_.size(), 0), order(parameters_.size(), -1);
    for (std::size_t i = 0; i < observed_.size(); ++i) {
      used[observed_[i]] = 1;
      order[i] = static_cast<std::int64_t>(observed_[i]);
    }
    all_reduce_max(group_, used);
    broadcast_from_first(group_, order);
    std::vector<std::size_t> chosen;
    for (const std::int64_t index : order) {
      if (index >= 0) chosen.push_back(static_cast<std::size_t>(index));
    }
    for (std::size_t index = parameters_.size(); index-- > 0;) {
      if (used[index] == 0) unused_.push_back(parameters_[index].name);
      if (used[index] != 0 && std::ranges::find(chosen, index) == chosen.end()) chosen.push_back(index);
    }
    std::ranges::reverse(unused_);
    std::vector<at::Tensor> averaged;
    for (const Slot& slot : slots_) averaged.push_back(slot.view);
    make_buckets(chosen);
    for (const std::size_t index : chosen) {
      slots_[index].view.copy_(averaged[index]);
      parameters_[index].value.mutable_grad() = slots_[index].view;
    }
  }

  std::vector<Parameter> parameters_;
  dtensor::Group group_;
  std::int64_t bucket_bytes_;
  WorkClock clock_;
  std::vector<Slot> slots_;
  at::Tensor share_;  ///< 1 / number of ranks
  std::vector<Bucket> buckets_;
  Reduction reduction_ = Reduction::kAverage;
  bool observing_ = true;
  std::size_t next_ = 0;
  std::vector<std::size_t> observed_;
  std::vector<std::string> unused_;
};

}  // namespace

std::int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void WorkClock::restart() {
  if (is_cpu()) return;
  dtensor::await_device(device_);
  started_ = dtensor::record_event(device_);
  dtensor::await_event(started_);
  started_ns_ = steady_now_ns();
}

Moment WorkClock::now() const {
  if (is_cpu()) return {steady_now_ns()};
  return {0, dtensor::record_event(device_)};
}

void WorkClock::await() const {
  if (!is_cpu()) dtensor::await_device(device_);
}

std::int64_t WorkClock::ns(const Moment& moment) const {
  return moment.event ? started_ns_ + dtensor::elapsed_ns(started_, moment.event) : moment.ns;
}

struct PendingCall::State {
  /// Written by gloo's thread. Separate from `work`, which owns that thread's callback: no reference cycle.
  struct Account {
    Account(const dtensor::Group& group, const at::Tensor& flat)
        : note(group, "all_reduce", at::toString(flat.scalar_type()), flat.numel(), flat.numel()) {}
    dtensor::ScopedRingEntry note;
    std::atomic<std::int64_t> completed_ns = 0;
  };

  std::shared_ptr<Account> account;
  WorkPointer work;
  dtensor::DeviceEvent completed;  ///< NCCL only
};

void PendingCall::wait(const dtensor::Group& group, const char* what) {
  if (!state_ || !state_->work) return;
  const WorkPointer work = std::move(state_->work);
  state_->work.reset();
  try {
    work->wait();
  } catch (const std::exception& error) {
    dtensor::refuse_call(group, what, error);
  }
}

Moment PendingCall::completed() {
  if (!state_) throw std::logic_error("completed() without a started collective");
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
    dtensor::refuse_call(group, "the reduction of gradients", error);
  }
  return pending;
}

void rank_barrier(const dtensor::Group& group) {
  dtensor::barrier(group);
  if (!group.device.is_cpu()) dtensor::await_device(group.device);
}

void broadcast_from_first(const dtensor::Group& group, at::Tensor tensor) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  if (group.size() == 1) return;
  dtensor::run_collective(
      group, "broadcast", tensors[0], tensors[0],
      [&](CollectiveBackend& backend) { return backend.broadcast(tensors, {}); }, true);
}

void broadcast_from_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  at::Tensor host = tensor_over(numbers);
  const at::Tensor on_device = host.to(group.device);
  broadcast_from_first(group, on_device);
  if (!on_device.is_same(host)) host.copy_(on_device);
}

void all_reduce_max(const dtensor::Group& group, std::vector<std::int64_t>& numbers) {
  at::Tensor host = tensor_over(numbers);
  std::vector<at::Tensor> tensors{host.to(group.device)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  if (group.size() == 1) return;
  dtensor::run_collective(
      group, "all_reduce", tensors[0], tensors[0],
      [&](CollectiveBackend& backend) { return backend.allreduce(tensors, options); }, true);
  if (!tensors[0].is_same(host)) host.copy_(tensors[0]);
}

void require_same(const dtensor::Group& group, std::uint64_t checksum, const std::string& what) {
  std::vector<std::int64_t> checksums(static_cast<std::size_t>(group.size()), -1);
  checksums[static_cast<std::size_t>(group.index)] = static_cast<std::int64_t>(checksum >> 1);
  all_reduce_max(group, checksums);
  for (std::size_t i = 1; i < checksums.size(); ++i) {
    if (checksums[i] == checksums.front()) continue;
    throw Error(fmt::format("rank {} has {} than rank {}", group.ranks[i], what, group.ranks.front()));
  }
}

std::vector<std::vector<std::size_t>> plan_buckets(const std::vector<std::size_t>& order,
                                                   const std::vector<std::int64_t>& bytes,
                                                   std::int64_t limit) {
  std::vector<std::vector<std::size_t>> buckets;
  std::int64_t held = 0;
  bool open = false;
  for (const std::size_t index : order) {
    if (!open) {
      buckets.emplace_back();
      held = 0;
    }
    buckets.back().push_back(index);
    held += bytes[index];
    const std::int64_t most = buckets.size() == 1 ? std::min(kFirstBucketBytes, limit) : limit;
    open = held < most;
  }
  return buckets;
}

std::unique_ptr<GradientReducer> bucket_reducer(const std::vector<Parameter>& parameters,
                                                dtensor::Group group, std::int64_t bucket_bytes) {
  return std::make_unique<BucketReducer>(parameters, std::move(group), bucket_bytes);
}

#if HEADROOM_TORCH_HAS_REDUCER

namespace {

class C10dReducer final : public GradientReducer {
 public:
  C10dReducer(const std::vector<Parameter>& parameters, dtensor::Group group, std::int64_t bucket_bytes)
      : group_(std::move(group)) {
    std::vector<at::Tensor> values;
    std::unordered_map<std::size_t, std::string> names;
    for (const Parameter& parameter : parameters) {
      names[values.size()] = parameter.name;
      values.push_back(parameter.value);
    }
    const std::vector<bool> sparse(values.size(), false);
    const auto most = static_cast<std::size_t>(bucket_bytes);
    const std::size_t first = std::min<std::size_t>(c10d::kDefaultFirstBucketBytes, most);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(values, {first, most}, sparse);
    // As DistributedDataParallel does.
    std::ranges::reverse(buckets);
    std::ranges::reverse(limits);
    reducer_ =
        std::make_unique<c10d::Reducer>(values, buckets, limits, group_.connection->backend, sparse,
                                        bucket_bytes, false, true, names, static_cast<std::int64_t>(first));
  }

  void begin(Reduction reduction) override {
    reducer_->rebuild_buckets();
    reducer_->prepare_for_forward();
    if (reduction == Reduction::kAverage) reducer_->prepare_for_backward({});
  }
  void finish() override {}  // backward() has waited
  std::vector<BucketTimes> times(const WorkClock& /*clock*/) override { return {}; }
  std::vector<std::string> unused() const override { return {}; }

 private:
  dtensor::Group group_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& parameters, dtensor::Group group,
                                              std::int64_t bucket_bytes) {
  if (group.size() == 1) throw Error("c10d's reducer needs at least 2 ranks: leave --reducer out");
  return std::make_unique<C10dReducer>(parameters, std::move(group), bucket_bytes);
}

#else

std::unique_ptr<GradientReducer> c10d_reducer(const std::vector<Parameter>& /*parameters*/,
                                              dtensor::Group /*group*/, std::int64_t /*bucket_bytes*/) {
  throw Error(fmt::format(
      "c10d's reducer is not available with libtorch {}, only with 1.13 and gloo: leave --reducer out",
      kTorchVersion));
}

#endif

}  // namespace headroom::torch_runner
