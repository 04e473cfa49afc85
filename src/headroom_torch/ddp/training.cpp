// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "headroom/base/error.h"
#include "headroom/base/fnv.h"
#include "headroom/machine/memory.h"
#include "headroom_torch/ddp/footprint.h"
#include "headroom_torch/ddp/group_calls.h"
#include "headroom_torch/op_recorder.h"

namespace headroom::torch_runner {
namespace {

std::string text_of(const Fnv1a& checksum) {
  return fmt::format("{:016x}", checksum.value());
}

void add_values(const at::Tensor& tensor, Fnv1a& checksum) {
  const at::Tensor here = tensor.detach().cpu().contiguous();
  checksum.add({static_cast<const char*>(here.data_ptr()), here.nbytes()});
}

std::string layout_of(const Model& model) {
  Fnv1a checksum;
  for (const Parameter& parameter : model.parameters()) {
    checksum.add(parameter.name);
    const auto sizes = parameter.value.sizes();
    checksum.add({reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(sizes[0])});
  }
  return text_of(checksum);
}

/// The same for processes that share memory.
std::string host_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
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

Training::Training(const DdpSetup& setup, dtensor::Group group)
    : setup_(setup),
      group_(std::move(group)),
      clock_(group_.device),
      model_(make_model(setup.model, setup.seed)),
      order_(setup.seed) {
  if (setup.reducer != "headroom" && setup.reducer != "c10d")
    throw Error("no reducer '" + setup.reducer + "'; there are headroom and c10d");
}

DdpReady Training::ready() {
  DdpReady ready;
  ready.parameters = parameter_count(*model_);
  ready.tensors = static_cast<std::int64_t>(model_->parameters().size());
  ready.takes_images = model_->takes_images();
  ready.layout = layout_of(*model_);
  ready.need_bytes = training_bytes(*model_, setup_.batch_size, setup_.image_size, setup_.ddp);
  ready.available_bytes =
      clock_.is_cpu() ? available_memory_bytes() : dtensor::free_device_bytes(group_.device);
  ready.host = host_name();
  return ready;
}

void Training::load() {
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

void Training::warm(int count) {
  for (int i = 0; i < count; ++i) iterate(Reduction::kAverage);
}

DdpRounds Training::rounds(int count) {
  DdpRounds rounds;
  const bool with_alone = reducer_ && group_.size() > 1;
  for (int i = 0; i < count; ++i) {
    const bool alone_first = with_alone && (order_() & 1U) != 0;
    for (const bool first : {true, false}) {
      const bool alone = first == alone_first;
      if (alone && !with_alone) continue;
      const Times times = iterate(alone ? Reduction::kLocal : Reduction::kAverage);
      if (alone) {
        rounds.alone_ns.push_back(static_cast<double>(times.stepped - times.began));
      } else {
        add(times, rounds);
      }
    }
  }
  return rounds;
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

void Training::add(const Times& times, DdpRounds& rounds) const {
  const auto push = [](std::vector<double>& values, std::int64_t ns) {
    values.push_back(static_cast<double>(ns));
  };
  push(rounds.iteration_ns, times.stepped - times.began);
  push(rounds.forward_ns, times.forwarded - times.began);
  push(rounds.backward_ns, times.went_back - times.forwarded);
  push(rounds.wait_ns, times.reduced - times.went_back);
  push(rounds.step_ns, times.stepped - times.reduced);
  std::vector<Reach> reaches;
  rounds.buckets.resize(times.buckets.size());
  for (std::size_t i = 0; i < times.buckets.size(); ++i) {
    const BucketTimes& from = times.buckets[i];
    DdpBucket& bucket = rounds.buckets[i];
    bucket.bytes = from.bytes;
    bucket.tensors = from.tensors;
    push(bucket.launched_ns, from.launched_ns - times.forwarded);
    push(bucket.completed_ns, from.completed_ns - times.forwarded);
    reaches.push_back({from.launched_ns, from.completed_ns});
  }
  if (reaches.empty()) return;
  push(rounds.communication_ns, covered_ns(reaches, times.reduced));
  push(rounds.hidden_ns, covered_ns(reaches, times.went_back));
}

DdpAgreement Training::agree() {
  DdpAgreement agreement;
  Fnv1a checksum;
  for (const Parameter& parameter : model_->parameters()) add_values(parameter.value, checksum);
  agreement.parameters = text_of(checksum);
  if (reducer_) agreement.unused = reducer_->unused();
  agreement.loss = loss_;
  return agreement;
}

void Training::record(const std::string& file, int count) {
  OpRecorder recorder(file,
                      {setup_.backend, group_.ranks[static_cast<std::size_t>(group_.index)], group_.size()});
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

std::vector<double> Training::reductions_ns(std::int64_t bytes, int count) {
  std::vector<double> times;
  if (group_.size() == 1) return times;
  const at::Tensor flat =
      at::ones({std::max<std::int64_t>(bytes / 4, 1)}, at::TensorOptions(at::kFloat).device(group_.device));
  for (int i = 0; i < count; ++i) {
    meet(group_);
    flat.fill_(1);
    clock_.restart();
    const Moment begin = clock_.now();
    PendingCall call = start_sum(group_, flat);
    call.wait(group_, "an all-reduce");
    const Moment end = clock_.now();
    clock_.await();
    times.push_back(static_cast<double>(clock_.ns(end) - clock_.ns(begin)));
    call.completed();
  }
  return times;
}

}  // namespace headroom::torch_runner
