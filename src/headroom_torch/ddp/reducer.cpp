// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/reducer.h"

#include <ATen/ScalarOps.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom_torch/ddp/bucket_plan.h"
#include "headroom_torch/ddp/group_calls.h"

namespace headroom::torch_runner {
namespace {

struct Bucket {
  at::Tensor flat;
  std::vector<std::size_t> members;
  std::size_t missing = 0;  ///< members that have no gradient yet in this pass
  PendingCall pending;
  Moment launched, completed;
};

/// What is known of one parameter.
struct Slot {
  at::Tensor view;  ///< of its bucket; undefined where it is in none
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
    // The backward pass runs from the last layer to the first, or nearly so.
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

  /// The gradient of a parameter is complete.
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
          fmt::format("{} got a gradient, but no rank had one for it in the first pass, by which the "
                      "buckets were made: let the first pass use every parameter that is used later",
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

  /// A parameter that this rank did not use counts as zero where another rank did.
  void fill_up(Bucket& bucket) {
    for (const std::size_t index : bucket.members) {
      Slot& slot = slots_[index];
      if (slot.ready) continue;
      at::Tensor& gradient = parameters_[index].value.mutable_grad();
      if (gradient.defined()) {
        at::mul_out(slot.view, gradient, share_);  // what passes before accumulated
      } else {
        slot.view.zero_();
      }
      if (!observing_) gradient = slot.view;
    }
    bucket.missing = 0;
  }

  /// In the order of the buckets, so that all ranks do the same.
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

  /// Buckets in the order observed on the first rank; what it did not use but another did comes last.
  void rebuild() {
    observing_ = false;
    std::vector<std::int64_t> used(parameters_.size(), 0), order(parameters_.size(), -1);
    for (std::size_t i = 0; i < observed_.size(); ++i) {
      used[observed_[i]] = 1;
      order[i] = static_cast<std::int64_t>(observed_[i]);
    }
    largest_of(group_, used);
    copy_of_first(group_, order);
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
  at::Tensor share_;  ///< one over the number of ranks
  std::vector<Bucket> buckets_;
  Reduction reduction_ = Reduction::kAverage;
  bool observing_ = true;
  std::size_t next_ = 0;               ///< bucket to launch
  std::vector<std::size_t> observed_;  ///< parameters in the order of this pass
  std::vector<std::string> unused_;
};

}  // namespace

std::unique_ptr<GradientReducer> bucket_reducer(const std::vector<Parameter>& parameters,
                                                dtensor::Group group, std::int64_t bucket_bytes) {
  return std::make_unique<BucketReducer>(parameters, std::move(group), bucket_bytes);
}

}  // namespace headroom::torch_runner
