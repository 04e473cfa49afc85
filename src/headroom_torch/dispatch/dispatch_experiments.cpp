// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/perf_event.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/stats/quantile.h"
#include "headroom_torch/dtensor/device_mesh.h"
#include "headroom_torch/dtensor/distributed_tensor.h"
#include "headroom_torch/ranks/rank_experiments.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {
namespace {

/// May communicate: all ranks must make the same calls in order.
class DispatchCase {
 public:
  virtual ~DispatchCase() = default;
  /// A cycle calls, in random order, the operator on the whole tensor (plain), this rank's part (local) and
  /// the distributed tensor, with the propagation cache cleared (miss) and filled (hit), and takes each
  /// kind's median. The hit is the case's time. Columns, in us: the kinds, their differences, the steps of an
  /// extra miss and hit; also user-space instructions per call.
  virtual void measure(State& state) = 0;
};

struct DispatchContext {
  dtensor::MeshPtr mesh;
  dtensor::Placements placements;
  DispatchSetup setup;
  std::uint64_t seed = 1;
};

struct PanelOp {
  const char* name;
  const char* summary;
  bool by_default;  ///< measured if no operator is named
  /// Throws Error if the operator does not take a tensor of that shape.
  std::unique_ptr<DispatchCase> (*make)(const DispatchContext& context);
};

/// `whole` and `local` are empty for operators that plain tensors lack.
struct Operands {
  std::vector<at::Tensor> whole, local, placed;
};

template <typename Call>
double time_call(const Call& call, const std::vector<at::Tensor>& operands) {
  const auto begin = std::chrono::steady_clock::now();
  const at::Tensor result = call(operands);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

/// Call: at::Tensor(const std::vector<at::Tensor>&); a template avoids an indirect call.
template <typename Call>
class CycleLoop final : public DispatchCase {
 public:
  CycleLoop(const DispatchContext& context, Operands operands, Call call)
      : mesh_(context.mesh),
        operands_(std::move(operands)),
        call_(std::move(call)),
        times_(static_cast<std::size_t>(context.setup.repeats)),
        order_(context.seed) {}

  void measure(State& state) override {
    run_external_calls();
    const Steps steps = take_steps();
    const std::map<std::string, double> instructions = count_instructions();
    declare(state, !steps.miss.empty(), instructions);
    state.note("cache", cache_of_a_cycle());
    state.measure_batches([&](std::uint64_t cycles) {
      double hit_ns = 0;
      for (; cycles > 0; --cycles) {
        hit_ns += cycle();
        report_steps(take_steps());
        for (const auto& [kind, count] : instructions) columns_.at("instructions " + kind).add(count);
      }
      return hit_ns;
    });
  }

 private:
  static constexpr const char* kSteps[] = {"key", "look-up", "redistribute", "local", "wrap"};
  static constexpr const char* kKinds[] = {"plain", "local", "miss", "hit"};

  /// Times in ns; empty for calls that bypass the dispatcher.
  struct Steps {
    std::vector<double> miss, hit;
  };

  void declare(State& state, bool has_steps, const std::map<std::string, double>& instructions) {
    const auto column = [&](const std::string& name, const char* unit) {
      columns_.emplace(name, state.column(name, unit));
    };
    for (const char* name : {"miss", "propagation"}) column(name, "us");
    if (!operands_.whole.empty()) column("plain", "us");
    if (!operands_.local.empty()) {
      for (const char* name : {"local", "hit over local", "miss over local"}) column(name, "us");
    }
    for (const char* kind : {"miss", "hit"}) {
      for (const char* step : kSteps) {
        if (has_steps) column(fmt::format("{} {}", kind, step), "us");
      }
    }
    for (const char* kind : kKinds) {
      if (instructions.contains(kind)) column(fmt::format("instructions {}", kind), "1");
    }
  }

  double cycle() {
    std::array<std::string_view, 3> kinds{"plain", "local", "placed"};
    std::shuffle(kinds.begin(), kinds.end(), order_);
    double local_ns = 0, miss_ns = 0, hit_ns = 0;
    for (const std::string_view kind : kinds) {
      if (kind == "plain" && !operands_.whole.empty()) add_us("plain", typical(operands_.whole, true));
      if (kind == "local" && !operands_.local.empty()) local_ns = typical(operands_.local, true);
      if (kind != "placed") continue;
      // A miss must differ from a hit only by the propagation.
      call_(operands_.placed);
      mesh_->cache().clear();
      miss_ns = time_call(call_, operands_.placed);
      hit_ns = typical(operands_.placed, false);
    }
    add_us("miss", miss_ns);
    add_us("propagation", miss_ns - hit_ns);
    if (!operands_.local.empty()) {
      add_us("local", local_ns);
      add_us("hit over local", hit_ns - local_ns);
      add_us("miss over local", miss_ns - local_ns);
    }
    return hit_ns;
  }

  void add_us(const std::string& column, double ns) { columns_.at(column).add(ns / kNsPerUs); }

  /// The median. `may_be_fewer`: stops early for slow calls; not allowed if ranks communicate.
  double typical(const std::vector<at::Tensor>& operands, bool may_be_fewer) {
    std::size_t calls = 0;
    double total_ns = 0;
    while (calls < times_.size() && !(may_be_fewer && calls >= kFewest && total_ns > kEnoughNs)) {
      times_[calls] = time_call(call_, operands);
      total_ns += times_[calls++];
    }
    return median(std::span(times_).first(calls));
  }

  Steps take_steps() {
    dtensor::DispatchTimes times;
    mesh_->cache().set_times(&times);
    mesh_->cache().clear();
    Steps steps;
    steps.miss = steps_of_call(times);
    call_(operands_.placed);  // restore the cache state that the miss found
    steps.hit = steps_of_call(times);
    mesh_->cache().set_times(nullptr);
    return steps;
  }

  std::vector<double> steps_of_call(dtensor::DispatchTimes& times) {
    times = {};
    call_(operands_.placed);
    if (times.wrapped == 0) return {};
    const std::int64_t readings[] = {times.started, times.keyed,    times.found,
                                     times.moved,   times.computed, times.wrapped};
    std::vector<double> ns;
    for (std::size_t i = 0; i < std::size(kSteps); ++i)
      ns.push_back(static_cast<double>(readings[i + 1] - readings[i]));
    return ns;
  }

  void report_steps(const Steps& steps) {
    for (std::size_t i = 0; i < steps.miss.size(); ++i) {
      add_us(fmt::format("miss {}", kSteps[i]), steps.miss[i]);
      add_us(fmt::format("hit {}", kSteps[i]), steps.hit[i]);
    }
  }

  std::string cache_of_a_cycle() {
    const auto& cache = mesh_->cache();
    mesh_->cache().clear();
    const std::uint64_t hits = cache.hits(), misses = cache.misses();
    for (std::size_t i = 0; i < 1 + times_.size(); ++i) call_(operands_.placed);
    return fmt::format("{} hits, {} misses, {} plans", cache.hits() - hits, cache.misses() - misses,
                       cache.size());
  }

  /// Empty if not countable.
  std::map<std::string, double> count_instructions() {
    std::map<std::string, double> instructions;
    const InstructionCounter counter;
    if (!counter.absence().empty()) return instructions;
    for (const char* kind : kKinds) {
      if (operands_of(kind).empty()) continue;
      const auto before = counter.read();
      calls(kind, kCounted);
      const auto after = counter.read();
      if (before && after) instructions[kind] = (*after - *before) / kCounted;
    }
    return instructions;
  }

  void run_external_calls() {
    const auto count = to_integer(environment_variable("HEADROOM_DISPATCH_CALLS").value_or("0"));
    if (!count || *count < 1) return;
    for (const int times : {1, static_cast<int>(*count)}) {  // one call first, for one-time work
      for (const char* kind : kKinds) {
        if (!operands_of(kind).empty()) calls(kind, times);
      }
    }
  }

  void calls(std::string_view kind, int count) {
    if (kind == "hit") call_(operands_.placed);  // fill the cache
    counted_calls(operands_of(kind), kind == "miss", count);
  }

  const std::vector<at::Tensor>& operands_of(std::string_view kind) const {
    return kind == "plain" ? operands_.whole : kind == "local" ? operands_.local : operands_.placed;
  }

  /// Not inlined: bench/dispatch_instructions.py makes callgrind count in functions of this name.
  [[gnu::noinline]] void counted_calls(const std::vector<at::Tensor>& operands, bool miss, int count) {
    for (int i = 0; i < count; ++i) {
      if (miss) mesh_->cache().clear();
      call_(operands);
    }
  }

  static constexpr int kCounted = 100;
  static constexpr std::size_t kFewest = 3;
  static constexpr double kEnoughNs = 2e6;

  dtensor::MeshPtr mesh_;
  Operands operands_;
  Call call_;
  std::vector<double> times_;
  std::mt19937_64 order_;                  ///< the same on every rank, because they communicate
  std::map<std::string, Column> columns_;  ///< by name
};

using Tensors = std::vector<at::Tensor>;
using DispatchCasePtr = std::unique_ptr<DispatchCase>;

at::ScalarType scalar_type(const std::string& dtype) {
  if (dtype == "f32") return at::kFloat;
  if (dtype == "f64") return at::kDouble;
  if (dtype == "bf16") return at::kBFloat16;
  throw Error("unknown dtype " + quote(dtype) + ": expected f32, f64 or bf16");
}

at::Tensor random_tensor(const DispatchContext& context, at::IntArrayRef sizes) {
  return at::rand(sizes, at::TensorOptions().dtype(at::kFloat))
      .to(scalar_type(context.setup.dtype))
      .to(context.mesh->device());
}

dtensor::Placements replicated(const DispatchContext& context) {
  return dtensor::Placements(context.placements.size(), dtensor::Replicate());
}

/// Each rank's part of a partial tensor is a summand.
at::Tensor placed(const at::Tensor& whole, const DispatchContext& context,
                  const dtensor::Placements& placements) {
  for (const dtensor::Placement& placement : placements) {
    if (!placement.is_partial()) continue;
    return dtensor::from_local(whole, context.mesh, placements, dtensor::LocalSizes::kEqual);
  }
  return dtensor::distribute(whole, context.mesh, placements);
}

void add_operand(Operands& operands, at::Tensor whole, const DispatchContext& context,
                 const dtensor::Placements& placements) {
  operands.placed.push_back(placed(whole, context, placements));
  operands.local.push_back(dtensor::local(operands.placed.back()));
  operands.whole.push_back(std::move(whole));
}

Operands subject(const DispatchContext& context) {
  at::manual_seed(context.seed);
  Operands operands;
  add_operand(operands, random_tensor(context, context.setup.shape), context, context.placements);
  return operands;
}

void require_matrix(const DispatchContext& context, const char* op) {
  if (context.setup.shape.size() == 2) return;
  throw Error(fmt::format("{} needs a matrix, not a tensor of {}: use --shape ROWSxCOLUMNS", op,
                          fmt::join(context.setup.shape, "x")));
}

void add_weights(Operands& operands, const DispatchContext& context) {
  const std::int64_t inner = context.setup.shape.back();
  add_operand(operands, random_tensor(context, {inner, inner}), context, replicated(context));
}

template <typename Call>
DispatchCasePtr loop(const DispatchContext& context, Operands operands, Call call) {
  return std::make_unique<CycleLoop<Call>>(context, std::move(operands), std::move(call));
}

template <typename Call>
DispatchCasePtr placed_loop(const DispatchContext& context, Call call) {
  Operands operands = subject(context);
  operands.whole.clear();
  operands.local.clear();
  return loop(context, std::move(operands), std::move(call));
}

/// Call: at::Tensor(const at::Tensor&).
template <auto call>
DispatchCasePtr unary(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return call(x[0]); });
}

DispatchCasePtr add_in_place(const DispatchContext& context) {
  Operands operands = subject(context);
  // Zeros keep the values under repeated additions.
  add_operand(operands, at::zeros_like(operands.whole.front()), context, context.placements);
  return loop(context, std::move(operands), [](const Tensors& x) { return x[0].add_(x[1]); });
}

DispatchCasePtr mm(const DispatchContext& context) {
  require_matrix(context, "mm");
  Operands operands = subject(context);
  add_weights(operands, context);
  return loop(context, std::move(operands), [](const Tensors& x) { return at::mm(x[0], x[1]); });
}

DispatchCasePtr addmm(const DispatchContext& context) {
  require_matrix(context, "addmm");
  Operands operands = subject(context);
  add_weights(operands, context);
  add_operand(operands, random_tensor(context, {context.setup.shape.back()}), context, replicated(context));
  return loop(context, std::move(operands), [](const Tensors& x) { return at::addmm(x[2], x[0], x[1]); });
}

DispatchCasePtr matmul(const DispatchContext& context) {
  Operands operands = subject(context);
  add_weights(operands, context);
  return loop(context, std::move(operands), [](const Tensors& x) { return at::matmul(x[0], x[1]); });
}

DispatchCasePtr layer_norm(const DispatchContext& context) {
  const std::int64_t columns = context.setup.shape.back();
  Operands operands = subject(context);
  for (int i = 0; i < 2; ++i)
    add_operand(operands, random_tensor(context, {columns}), context, replicated(context));
  return loop(context, std::move(operands),
              [columns](const Tensors& x) { return at::layer_norm(x[0], {columns}, x[1], x[2]); });
}

DispatchCasePtr transpose(const DispatchContext& context) {
  require_matrix(context, "t");
  return loop(context, subject(context), [](const Tensors& x) { return x[0].t(); });
}

DispatchCasePtr redistribute(const DispatchContext& context) {
  dtensor::Placements to = replicated(context);
  if (to == context.placements) to.front() = dtensor::Shard{0};
  return placed_loop(context, [to](const Tensors& x) { return dtensor::redistribute(x[0], to); });
}

DispatchCasePtr from_local(const DispatchContext& context) {
  return placed_loop(context, [mesh = context.mesh, placements = context.placements,
                               part = dtensor::local(subject(context).placed.front())](const Tensors&) {
    return dtensor::from_local(part, mesh, placements, dtensor::LocalSizes::kEqual);
  });
}

DispatchCasePtr full(const DispatchContext& context) {
  return placed_loop(context, [](const Tensors& x) { return dtensor::full(x[0]); });
}

dtensor::Placements placements_of(const DispatchSetup& setup) {
  dtensor::Placements placements;
  for (const PlacementText& placement : setup.placements) {
    switch (placement.kind) {
      case PlacementText::Kind::kShard:
        placements.push_back(dtensor::Shard{placement.dim});
        break;
      case PlacementText::Kind::kReplicate:
        placements.push_back(dtensor::Replicate());
        break;
      case PlacementText::Kind::kPartial:
        placements.push_back(dtensor::Partial());
        break;
    }
  }
  return placements;
}

class Meshes {
 public:
  explicit Meshes(const RankContext& context) : context_(context) {}

  dtensor::MeshPtr mesh(const std::vector<int>& shape, const std::string& backend) {
    if (!mesh_ || mesh_->shape() != shape || backend_ != backend) {
      const auto transport = backend == "nccl" ? dtensor::Transport::kNccl : dtensor::Transport::kGloo;
      mesh_ = dtensor::DeviceMesh::create(context_.world, shape, {}, transport);
      backend_ = backend;
    }
    return mesh_;
  }

 private:
  const RankContext& context_;
  dtensor::MeshPtr mesh_;
  std::string backend_;
};

void measure(const PanelOp& op, const RankContext& rank, Meshes& meshes, State& state) {
  DispatchContext context;
  context.setup = dispatch_setup_of([&](const char* axis) { return state.text(axis); });
  require_fit(context.setup, rank.place.size);
  context.mesh = meshes.mesh(context.setup.mesh, state.backend());
  pin_to_rank_cpus(rank.place, state.threads());
  at::set_num_threads(state.threads());
  context.placements = placements_of(context.setup);
  context.seed = state.seed();
  state.note("library", fmt::format("libtorch {}", kTorchVersion));
  op.make(context)->measure(state);
}

/// The default operators come first.
const std::vector<PanelOp>& dispatch_panel() {
  static const std::vector<PanelOp> panel{
      {"add", "a + a", true, unary<[](const at::Tensor& x) { return at::add(x, x); }>},
      {"detach", "a view of a, detached from its gradient", true,
       unary<[](const at::Tensor& x) { return x.detach(); }>},
      {"mm", "a times a replicated square matrix", true, mm},
      {"addmm", "mm plus a replicated row", true, addmm},
      {"sum", "sum of all elements", true, unary<[](const at::Tensor& x) { return at::sum(x); }>},
      {"view", "a viewed as a vector", true, unary<[](const at::Tensor& x) { return x.view({-1}); }>},
      {"add_", "zeros added in place", true, add_in_place},
      {"redistribute", "from its placement to replicated; communicates", true, redistribute},
      {"from_local", "makes a distributed tensor from each rank's part", true, from_local},
      {"full", "gathers a on every rank; communicates", true, full},
      {"layer_norm", "over the last dimension, replicated weight and bias", true, layer_norm},
      {"softmax", "over the last dimension", true,
       unary<[](const at::Tensor& x) { return at::softmax(x, -1); }>},
      {"mul", "a * a", false, unary<[](const at::Tensor& x) { return at::mul(x, x); }>},
      {"relu", "ReLU of each element", false, unary<[](const at::Tensor& x) { return at::relu(x); }>},
      {"matmul", "mm as at::matmul decomposes it", false, matmul},
      {"mean", "mean of all elements", false, unary<[](const at::Tensor& x) { return at::mean(x); }>},
      {"t", "a transposed", false, transpose},
      {"clone", "a copy of a", false, unary<[](const at::Tensor& x) { return at::clone(x); }>},
      {"cat", "a concatenated with itself", false, unary<[](const at::Tensor& x) {
         return at::cat({x, x}, -1);
       }>},
  };
  return panel;
}

}  // namespace

void add_dispatch(Registry& registry, const RankContext& context) {
  const auto meshes = std::make_shared<Meshes>(context);
  for (const PanelOp& op : dispatch_panel()) {
    Experiment& experiment = registry.add(
        std::string("dispatch.") + op.name,
        with_short_errors([&op, &context, meshes](State& state) { measure(op, context, *meshes, state); }));
    experiment.summary(op.summary)
        .backends({"gloo", "nccl"})
        .metric("latency")
        .places_itself()
        .each_rank_counts();
    for (const auto& [axis, value] : axes_of(DispatchSetup{}))
      experiment.axis({axis, Axis::Kind::kFree, {value}});
    if (!op.by_default) experiment.on_request();
  }
}

}  // namespace headroom::torch_runner
