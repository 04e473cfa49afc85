// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/fnv.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/ddp/group_calls.h"

namespace headroom::torch_runner {
namespace {

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
