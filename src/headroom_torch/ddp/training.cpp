// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/training.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/fnv.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/memory.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/nccl/nccl_device.h"
#include "headroom_torch/ranks/rank_experiments.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kGrain = 32768;

/// Fits every stride of the networks.
constexpr std::int64_t kTrialImage = 64;

#if HEADROOM_TORCH_AT_LEAST(2, 0)
using Total = std::size_t;
#else
using Total = std::int64_t;
#endif

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

constexpr int kTraced = 2;
constexpr double kSecondsPerNs = 1e-9;

/// Charged to the shared total until the case allocates.
class Reservation {
 public:
  Reservation(double& reserved, double bytes) : reserved_(reserved), bytes_(bytes) { reserved_ += bytes_; }
  ~Reservation() { end(); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  void end() { reserved_ -= std::exchange(bytes_, 0); }

 private:
  double& reserved_;
  double bytes_;
};

void require_memory(const State& state, const RankPlace& place, double reserved, double passing, int ranks,
                    bool on_gpu) {
  const double need = reserved + passing * ranks;
  const auto available = static_cast<double>(
      on_gpu ? dtensor::free_device_bytes(dtensor::nccl_device(place.local_rank)) : available_memory_bytes());
  if (need <= available) return;
  state.skip(
      fmt::format("a batch of {} on {} rank{} of one {} needs about {}, {} available: use a smaller "
                  "--batch-size or --image-size, or fewer ranks",
                  state.integer("batch_size"), ranks, ranks == 1 ? "" : "s", on_gpu ? "GPU" : "machine",
                  format_bytes(need), format_bytes(available)));
}

class RoundColumns {
 public:
  RoundColumns(State& state, bool is_reducing) {
    const auto time = [&](const char* name, auto value) {
      columns_.push_back({state.column(name, "s"), value});
    };
    if (is_reducing) {
      time("without reduction", [](const TrainingRound& round) { return round.alone * kSecondsPerNs; });
      time("exposed communication",
           [](const TrainingRound& round) { return (round.iteration - round.alone) * kSecondsPerNs; });
    }
    time("forward", [](const TrainingRound& round) { return round.forward * kSecondsPerNs; });
    time("backward", [](const TrainingRound& round) { return round.backward * kSecondsPerNs; });
    time("wait", [](const TrainingRound& round) { return round.wait * kSecondsPerNs; });
    time("step", [](const TrainingRound& round) { return round.step * kSecondsPerNs; });
    if (!is_reducing || state.backend() != "headroom") return;
    time("communication", [](const TrainingRound& round) { return round.communication * kSecondsPerNs; });
    columns_.push_back(
        {state.column("overlap", "1", Direction::kHigherIsBetter), [](const TrainingRound& round) {
           return round.communication > 0 ? round.hidden / round.communication : 0;
         }});
  }

  void add(const TrainingRound& round) {
    for (auto& [column, value] : columns_) column.add(value(round));
  }

 private:
  struct ColumnValue {
    Column column;
    std::function<double(const TrainingRound&)> value;
  };
  std::vector<ColumnValue> columns_;
};

TrainingSetup setup_of(const ModelEntry& entry, const State& state) {
  TrainingSetup setup;
  setup.model = entry.name;
  setup.batch_size = state.integer("batch_size");
  if (entry.takes_images) setup.image_size = state.integer("image_size");
  setup.bucket_bytes = state.integer("bucket_size");
  setup.ddp = state.text("ddp") == "yes";
  setup.reducer = state.backend();
  setup.seed = state.seed();
  return setup;
}

void conclude(const Training& training, State& state) {
  training.require_equal_replicas();
  const std::vector<std::string> unused = training.unused();
  if (!unused.empty()) state.note("unused parameters", join(unused, ", "));
  state.note("loss", fmt::format("{:g}", training.loss()));
  if (!training.is_reducing()) return;
  const auto in_us = [](const std::vector<double>& ns) {
    std::vector<double> us;
    for (const double value : ns) us.push_back(value / kNsPerUs);
    return us;
  };
  for (std::size_t i = 0; i < training.buckets().size(); ++i) {
    const BucketHistory& bucket = training.buckets()[i];
    const NumberMap numbers{{"bytes", static_cast<double>(bucket.bytes)},
                            {"tensors", static_cast<double>(bucket.tensors)}};
    state.series({fmt::format("bucket {} launched", i), "us", in_us(bucket.launched_ns), {}, numbers});
    state.series({fmt::format("bucket {} completed", i), "us", in_us(bucket.completed_ns), {}, numbers});
  }
}

Work work_of(Model& model, const TrainingSetup& setup, int ranks, int here) {
  const double flops = training_flops(model, setup.image_size) * static_cast<double>(setup.batch_size);
  const TrainingTraffic traffic = training_traffic(model);
  Work work{flops * here, (traffic.read + traffic.written) * here, traffic.written * here, "f32"};
  if (setup.ddp) work.exchanged = exchanged_bytes("all_reduce", 4 * parameter_count(model), ranks);
  return work;
}

void measure(const ModelEntry& entry, RankContext& context, double& reserved, State& state) {
  const TrainingSetup setup = setup_of(entry, state);
  const std::int64_t requested = state.integer("ranks");
  if (requested > context.place.size)
    throw Error(fmt::format("cannot train on {} ranks in a world of {}", requested, context.place.size));
  const auto ranks = static_cast<int>(requested);
  if (context.place.rank >= ranks) return state.measure_batches([](std::uint64_t) { return 0.0; });
  if (!setup.ddp && ranks > 1)
    state.skip("without DDP each rank trains a separate model: measured on one rank only");
  const std::string transport = state.text("transport");
  if (transport != "gloo" && transport != "nccl")
    throw Error("unknown transport " + quote(transport) + ": expected gloo or nccl");
  const bool on_gpu = transport == "nccl";
  at::set_num_threads(state.threads());
  pin_to_rank_cpus(context.place, state.threads());
  std::unique_ptr<Model> model = entry.make(setup.seed);
  const TrainingBytes bytes = training_bytes(*model, setup.batch_size, setup.image_size, setup.ddp);
  const int here = on_gpu ? 1 : context.local_rank_count(ranks);  // on a GPU, each rank has separate memory
  Reservation reservation(reserved, static_cast<double>(bytes.kept) * here);
  require_memory(state, context.place, reserved, static_cast<double>(bytes.passing), here, on_gpu);
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  state.note("parameters", std::to_string(parameter_count(*model)));
  if (!on_gpu) state.work(work_of(*model, setup, ranks, here));
  state.rate("throughput", static_cast<double>(setup.batch_size) * ranks, "examples/s");
  RoundColumns columns(state, setup.ddp && ranks > 1);
  // Connected late: ranks that train would wait for ranks that skip.
  std::optional<Training> training;
  state.measure_batches([&](std::uint64_t rounds) {
    if (!training) {
      reservation.end();
      training.emplace(
          setup, std::move(model),
          context.first(ranks, "ddp", on_gpu ? dtensor::Transport::kNccl : dtensor::Transport::kGloo));
    }
    if (!context.trace.empty()) {
      std::filesystem::create_directories(context.trace);
      training->record(fmt::format("{}/rank-{}.json.gz", context.trace, context.place.rank), kTraced);
      return 0.0;
    }
    double ns = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      const TrainingRound round = training->round();
      columns.add(round);
      ns += round.iteration;
    }
    return ns;
  });
  if (state.is_concluding() && training) conclude(*training, state);
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
  constexpr double kMost = 4e18;  // the batch size is unbounded
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
  for (const Parameter& parameter : model_->parameters())
    broadcast_from_first(group_, parameter.value.detach());
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
  rank_barrier(group_);
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
  // The first averaging pass rebuilds the buckets.
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
  rank_barrier(group_);
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

void add_ddp(Registry& registry, RankContext& context) {
  const auto reserved = std::make_shared<double>(0);
  for (const ModelEntry& entry : model_table()) {
    Experiment& experiment = registry.add(std::string("ddp.") + entry.name,
                                          with_short_errors([&entry, &context, reserved](State& state) {
                                            measure(entry, context, *reserved, state);
                                          }));
    experiment.summary(entry.summary)
        .axis("batch_size", {32})
        .axis("ranks", {1})
        .axis("ddp", {"no", "yes"})
        .backends({"headroom", "c10d"})
        .metric("latency")
        .places_itself()
        .each_rank_counts();
    if (entry.takes_images) experiment.axis("image_size", {64});
    experiment.axis("bucket_size", {25 << 20}).axis({"transport", Axis::Kind::kFree, {"gloo"}});
    if (std::string_view(entry.name) != "resnet18") experiment.on_request();
  }
}

}  // namespace headroom::torch_runner
