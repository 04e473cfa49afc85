// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ranks/rank_experiments.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/memory.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/ddp/training.h"
#include "headroom_torch/nccl/nccl_device.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {
namespace {

/// Iterations in a trace.
constexpr int kTraced = 2;
constexpr double kSecondsPerNs = 1e-9;

/// What a case will keep, of the memory that all cases of a group share: it counts from when the case is
/// prepared until it has taken it.
class Reservation {
 public:
  /// `reserved`: by all cases together.
  Reservation(double& reserved, double bytes) : reserved_(reserved), bytes_(bytes) { reserved_ += bytes_; }
  ~Reservation() { end(); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  void end() { reserved_ -= std::exchange(bytes_, 0); }

 private:
  double& reserved_;
  double bytes_;
};

/// Skips the case where the cases that are prepared would keep more than there is, with one of them at a time
/// in an iteration, which takes `passing` bytes of each rank.
void require_memory(const State& state, const RankPlace& place, double reserved, double passing, int ranks,
                    bool on_gpu) {
  const double need = reserved + passing * ranks;
  const auto available = static_cast<double>(
      on_gpu ? dtensor::free_device_bytes(dtensor::nccl_device(place.local_rank)) : available_memory_bytes());
  if (need <= available) return;
  state.skip(fmt::format(
      "a batch of {} on {} rank{} of one {} takes about {}, and {} are available there: ask for a smaller "
      "--batch-size or --image-size, or fewer ranks",
      state.integer("batch_size"), ranks, ranks == 1 ? "" : "s", on_gpu ? "GPU" : "machine",
      format_bytes(need), format_bytes(available)));
}

/// What is measured in each iteration, in s but for the share.
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
  struct Told {
    Column column;
    std::function<double(const TrainingRound&)> value;
  };
  std::vector<Told> columns_;
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
  const auto told = [](const std::vector<double>& ns) {
    std::vector<double> us;
    for (const double value : ns) us.push_back(value / kNsPerUs);
    return us;
  };
  for (std::size_t i = 0; i < training.buckets().size(); ++i) {
    const BucketHistory& bucket = training.buckets()[i];
    const StringMap info{{"bytes", std::to_string(bucket.bytes)},
                         {"tensors", std::to_string(bucket.tensors)}};
    state.series({fmt::format("bucket {} launched", i), "us", told(bucket.launched_ns), info});
    state.series({fmt::format("bucket {} completed", i), "us", told(bucket.completed_ns), info});
  }
}

/// Of all ranks of a machine together, which share what it can do.
Work work_of(Model& model, const TrainingSetup& setup, int ranks, int here) {
  const double flops = training_flops(model, setup.image_size) * static_cast<double>(setup.batch_size);
  const TrainingTraffic traffic = training_traffic(model);
  Work work{flops * here, (traffic.read + traffic.written) * here, traffic.written * here, "f32"};
  if (setup.ddp) work.exchanged = exchanged_bytes("all_reduce", 4 * parameter_count(model), ranks);
  return work;
}

void measure(const ModelEntry& entry, RankContext& context, double& reserved, State& state) {
  const TrainingSetup setup = setup_of(entry, state);
  const std::int64_t asked = state.integer("ranks");
  if (asked > context.place.size)
    throw Error(fmt::format("{} ranks in a world of {}", asked, context.place.size));
  const auto ranks = static_cast<int>(asked);
  if (context.place.rank >= ranks) return state.measure_batches([](std::uint64_t) { return 0.0; });
  if (!setup.ddp && ranks > 1)
    state.skip("without ddp the ranks would train models of their own: it is measured on one");
  const std::string transport = state.text("transport");
  if (transport != "gloo" && transport != "nccl")
    throw Error("no transport " + in_quotes(transport) + ": there are gloo and nccl");
  const bool on_gpu = transport == "nccl";
  at::set_num_threads(state.threads());
  keep_to_cpus_of_rank(context.place, state.threads());
  std::unique_ptr<Model> model = entry.make(setup.seed);
  const TrainingBytes bytes = training_bytes(*model, setup.batch_size, setup.image_size, setup.ddp);
  const int here = on_gpu ? 1 : context.ranks_here(ranks);  // each of those has a GPU's memory of its own
  Reservation reservation(reserved, static_cast<double>(bytes.kept) * here);
  require_memory(state, context.place, reserved, static_cast<double>(bytes.passing), here, on_gpu);
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  state.note("parameters", std::to_string(parameter_count(*model)));
  if (!on_gpu) state.work(work_of(*model, setup, ranks, here));
  state.rate("throughput", static_cast<double>(setup.batch_size) * ranks, "examples/s");
  RoundColumns columns(state, setup.ddp && ranks > 1);
  // Ranks that can train would wait for those that cannot, so that nothing is exchanged before all are ready.
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

void add_ddp(Registry& registry, RankContext& context) {
  const auto reserved = std::make_shared<double>(0);
  for (const ModelEntry& entry : model_table()) {
    Experiment& experiment = registry.add(std::string("ddp.") + entry.name,
                                          in_few_words([&entry, &context, reserved](State& state) {
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
