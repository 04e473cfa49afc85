// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/training.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/fnv.h"
#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kGrain = 32768;

/// Images of the trial passes: large enough for every stride of the networks.
constexpr std::int64_t kTrialImage = 64;

#if HEADROOM_TORCH_AT_LEAST(2, 0)
using Total = std::size_t;
#else
using Total = std::int64_t;
#endif

/// Follows what this thread takes and gives back.
class MemoryWatch final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*pointer*/, std::int64_t change, Total /*allocated*/, Total /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += change;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t held_ = 0, peak_ = 0;
};

void trial_pass(Model& model, std::int64_t batch_size, std::int64_t image_size) {
  const Batch batch = model.batch(batch_size, image_size, 1);
  at::cross_entropy_loss(model.forward(batch.input), batch.target).backward();
}

std::int64_t peak_of(Model& model, std::int64_t batch_size, std::int64_t image_size) {
  const auto watch = std::make_shared<MemoryWatch>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
    trial_pass(model, batch_size, image_size);
  }
  drop_gradients(model);
  return watch->peak();
}

std::uint64_t checksum_of(const Model& model) {
  Fnv1a checksum;
  for (const Parameter& parameter : model.parameters()) {
    const at::Tensor here = parameter.value.detach().cpu().contiguous();
    checksum.add({static_cast<const char*>(here.data_ptr()), here.nbytes()});
  }
  return checksum.value();
}

/// Of names and shapes.
std::uint64_t layout_of(const Model& model) {
  Fnv1a checksum;
  for (const Parameter& parameter : model.parameters()) {
    checksum.add(parameter.name);
    const auto sizes = parameter.value.sizes();
    checksum.add({reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(sizes[0])});
  }
  return checksum.value();
}

struct Reach {
  std::int64_t begin, end;
};

/// Nanoseconds in which at least one of the reaches was open, up to `until`.
std::int64_t covered_ns(std::vector<Reach> reaches, std::int64_t until) {
  std::ranges::sort(reaches, {}, &Reach::begin);
  std::int64_t total = 0, reached = 0;
  for (const Reach& reach : reaches) {
    const std::int64_t begin = std::max(reach.begin, reached), end = std::min(reach.end, until);
    if (end > begin) total += end - begin;
    reached = std::max(reached, reach.end);
  }
  return total;
}

}  // namespace

Sgd::Sgd(std::vector<Parameter> parameters, Settings settings)
    : parameters_(std::move(parameters)), settings_(settings) {
  for (const Parameter& parameter : parameters_) {
    momentum_.push_back(at::zeros_like(parameter.value.detach()));
  }
}

void Sgd::step() {
  apply({settings_.rate, settings_.momentum, 1, settings_.weight_decay});
}

void Sgd::idle_step() {
  apply({0, 1, 0, 0});
}

void Sgd::apply(const Coefficients& by) {
  const bool on_cpu = parameters_.empty() || parameters_.front().value.is_cpu();
  on_cpu && !settings_.by_operators ? apply_in_one_pass(by) : apply_by_operators(by);
}

void Sgd::apply_by_operators(const Coefficients& by) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values, momenta, gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].value.grad();
    if (!gradient.defined()) continue;
    values.push_back(parameters_[i].value);
    momenta.push_back(momentum_[i]);
    gradients.push_back(gradient);
  }
  if (values.empty()) return;
  at::_foreach_mul_(momenta, by.momentum);
  at::_foreach_add_(momenta, gradients, by.gradient);
  at::_foreach_add_(momenta, values, by.weight_decay);
  at::_foreach_add_(values, momenta, -by.rate);
}

void Sgd::apply_in_one_pass(const Coefficients& by) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].value.grad();
    if (!gradient.defined()) continue;
    const at::Tensor dense = gradient.contiguous();
    float* const value = parameters_[i].value.data_ptr<float>();
    float* const momentum = momentum_[i].data_ptr<float>();
    const float* const slope = dense.data_ptr<float>();
    at::parallel_for(0, dense.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        momentum[j] = by.momentum * momentum[j] + (by.gradient * slope[j] + by.weight_decay * value[j]);
        value[j] -= by.rate * momentum[j];
      }
    });
  }
}

double training_flops(Model& model, std::int64_t image_size) {
  const double flops = count_flops([&] { trial_pass(model, 1, image_size); }).flops;
  drop_gradients(model);
  return flops;
}

TrainingTraffic training_traffic(const Model& model) {
  const auto bytes = 4 * static_cast<double>(parameter_count(model));
  return {.read = 5 * bytes, .written = 3 * bytes};
}

TrainingBytes training_bytes(Model& model, std::int64_t batch_size, std::int64_t image_size,
                             bool with_buckets) {
  const std::int64_t trial = std::min(image_size, kTrialImage);
  const std::int64_t one = peak_of(model, 1, trial), two = peak_of(model, 2, trial);
  double example = static_cast<double>(std::max<std::int64_t>(two - one, 0));
  if (image_size > 0) {
    const double scale = static_cast<double>(image_size) / static_cast<double>(trial);
    example *= scale * scale;
  }
  const std::int64_t parameters = 4 * parameter_count(model);
  constexpr double kMost = 4e18;  // a batch may be any number
  return {parameters * (with_buckets ? 3 : 2),
          static_cast<std::int64_t>(std::min(kMost, example * static_cast<double>(batch_size)))};
}

/// Moments of one iteration, in nanoseconds of the steady clock.
struct Training::Times {
  std::int64_t began, forwarded, went_back, reduced, stepped;
  std::vector<BucketTimes> buckets;
};

Training::Training(TrainingSetup setup, std::unique_ptr<Model> model, dtensor::Group group)
    : setup_(std::move(setup)),
      group_(std::move(group)),
      clock_(group_.device),
      model_(std::move(model)),
      order_(setup_.seed) {
  require_same(group_, layout_of(*model_), "another " + setup_.model);
  model_->move_to(group_.device);
  batch_ = model_->batch(setup_.batch_size, setup_.image_size,
                         setup_.seed + static_cast<std::uint64_t>(group_.index));
  batch_ = {batch_.input.to(group_.device), batch_.target.to(group_.device)};
  optimizer_.emplace(model_->parameters(), Sgd::Settings{});
  for (const Parameter& parameter : model_->parameters()) copy_of_first(group_, parameter.value.detach());
  if (!setup_.ddp) return;
  reducer_ = (setup_.reducer == "c10d" ? c10d_reducer : bucket_reducer)(model_->parameters(), group_,
                                                                        setup_.bucket_bytes);
}

TrainingRound Training::round() {
  TrainingRound round;
  const bool alone_first = is_reducing() && (order_() & 1U) != 0;
  for (const bool first : {true, false}) {
    const bool alone = first == alone_first;
    if (alone && !is_reducing()) continue;
    const Times times = iterate(alone ? Reduction::kLocal : Reduction::kAverage);
    const auto whole = static_cast<double>(times.stepped - times.began);
    if (alone) {
      round.alone = whole;
      continue;
    }
    round.iteration = whole;
    round.forward = static_cast<double>(times.forwarded - times.began);
    round.backward = static_cast<double>(times.went_back - times.forwarded);
    round.wait = static_cast<double>(times.reduced - times.went_back);
    round.step = static_cast<double>(times.stepped - times.reduced);
    note_buckets(times, round);
  }
  ++rounds_;
  return round;
}

Training::Times Training::iterate(Reduction reduction) {
  meet(group_);
  clock_.restart();
  const Moment began = clock_.now();
  drop_gradients(*model_);
  const at::Tensor loss = at::cross_entropy_loss(model_->forward(batch_.input), batch_.target);
  const Moment forwarded = clock_.now();
  if (reducer_) reducer_->begin(reduction);
  loss.backward();
  const Moment went_back = clock_.now();
  if (reducer_) reducer_->finish();
  const Moment reduced = clock_.now();
  if (reduction == Reduction::kLocal) {
    optimizer_->idle_step();
  } else {
    optimizer_->step();
  }
  const Moment stepped = clock_.now();
  clock_.await();
  Times times{clock_.ns(began),   clock_.ns(forwarded), clock_.ns(went_back),
              clock_.ns(reduced), clock_.ns(stepped),   {}};
  if (reducer_) times.buckets = reducer_->times(clock_);
  loss_ = loss.item<double>();
  return times;
}

void Training::note_buckets(const Times& times, TrainingRound& round) {
  // The first pass that averages has made new ones.
  if (buckets_.size() != times.buckets.size()) buckets_.assign(times.buckets.size(), {});
  std::vector<Reach> reaches;
  for (std::size_t i = 0; i < times.buckets.size(); ++i) {
    const BucketTimes& from = times.buckets[i];
    BucketHistory& bucket = buckets_[i];
    bucket.bytes = from.bytes;
    bucket.tensors = from.tensors;
    bucket.launched_ns.push_back(static_cast<double>(from.launched_ns - times.forwarded));
    bucket.completed_ns.push_back(static_cast<double>(from.completed_ns - times.forwarded));
    reaches.push_back({from.launched_ns, from.completed_ns});
  }
  round.communication = static_cast<double>(covered_ns(reaches, times.reduced));
  round.hidden = static_cast<double>(covered_ns(std::move(reaches), times.went_back));
}

std::vector<std::string> Training::unused() const {
  return reducer_ ? reducer_->unused() : std::vector<std::string>();
}

void Training::require_equal_replicas() const {
  try {
    require_same(group_, checksum_of(*model_), "other parameters");
  } catch (const Error& error) {
    throw Error(fmt::format("{} after {} iterations", error.what(), rounds_));
  }
}

void Training::record(const std::string& file, int count) {
  OpRecorder recorder(file, {clock_.is_cpu() ? "gloo" : "nccl",
                             group_.ranks[static_cast<std::size_t>(group_.index)], group_.size()});
  meet(group_);
  recorder.start();
  for (int i = 0; i < count; ++i) {
    if (i > 0) recorder.next_step();
    const Times times = iterate(Reduction::kAverage);
    if (group_.size() == 1) continue;
    for (const BucketTimes& bucket : times.buckets) {
      recorder.add({"all_reduce", "Float", bucket.bytes / 4, bucket.launched_ns,
                    bucket.completed_ns - bucket.launched_ns});
    }
  }
  recorder.stop();
}

}  // namespace headroom::torch_runner
