// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/perf_event.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/stats/quantile.h"
#include "headroom_torch/dispatch/dispatch_case.h"
#include "headroom_torch/dispatch/dispatch_panel.h"

namespace headroom::torch_runner {

/// What an operator is called with: the whole tensors, this rank's parts of them, and the distributed
/// tensors. `whole` and `local` are empty where there is no counterpart on plain tensors.
struct Operands {
  std::vector<at::Tensor> whole, local, placed;
};

/// Nanoseconds of one call. The result is dropped after the second reading of the clock.
template <typename Call>
double time_call(const Call& call, const std::vector<at::Tensor>& operands) {
  const auto begin = std::chrono::steady_clock::now();
  const at::Tensor result = call(operands);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

/// The cycles of one operator. Call: at::Tensor(const std::vector<at::Tensor>&), known to the compiler, so
/// that what is timed is the operator and nothing of ours.
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
    call_for_others();
    const Steps steps = take_steps();
    const std::map<std::string, double> instructions = count_instructions();
    declare(state, !steps.miss.empty(), instructions);
    state.note("cache", cache_of_a_cycle());
    state.measure_batches([&](std::uint64_t cycles) {
      double hit_ns = 0;
      for (; cycles > 0; --cycles) {
        hit_ns += cycle();
        tell_steps(take_steps());
        for (const auto& [kind, count] : instructions) columns_.at("instructions " + kind).add(count);
      }
      return hit_ns;
    });
  }

 private:
  static constexpr const char* kSteps[] = {"key", "look-up", "redistribute", "local", "wrap"};
  static constexpr const char* kKinds[] = {"plain", "local", "miss", "hit"};

  /// Nanoseconds of each step; empty for what is no operator of the dispatcher.
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

  /// Nanoseconds of the hit.
  double cycle() {
    std::array<std::string_view, 3> kinds{"plain", "local", "placed"};
    std::shuffle(kinds.begin(), kinds.end(), order_);
    double local_ns = 0, miss_ns = 0, hit_ns = 0;
    for (const std::string_view kind : kinds) {
      if (kind == "plain" && !operands_.whole.empty()) tell("plain", typical(operands_.whole, true));
      if (kind == "local" && !operands_.local.empty()) local_ns = typical(operands_.local, true);
      if (kind != "placed") continue;
      // The block before left other memory in the caches: a miss shall differ from a hit by the propagation
      // alone.
      call_(operands_.placed);
      mesh_->cache().clear();
      miss_ns = time_call(call_, operands_.placed);
      hit_ns = typical(operands_.placed, false);
    }
    tell("miss", miss_ns);
    tell("propagation", miss_ns - hit_ns);
    if (!operands_.local.empty()) {
      tell("local", local_ns);
      tell("hit over local", hit_ns - local_ns);
      tell("miss over local", miss_ns - local_ns);
    }
    return hit_ns;
  }

  void tell(const std::string& column, double ns) { columns_.at(column).add(ns / kNsPerUs); }

  /// The median of as many calls as a cycle has; `may_be_fewer` where they take long, which is no choice
  /// where ranks communicate.
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
    call_(operands_.placed);  // the first hit finds the caches as the miss left them
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

  void tell_steps(const Steps& steps) {
    for (std::size_t i = 0; i < steps.miss.size(); ++i) {
      tell(fmt::format("miss {}", kSteps[i]), steps.miss[i]);
      tell(fmt::format("hit {}", kSteps[i]), steps.hit[i]);
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

  /// Of a call, in user space, by kind; empty where they are not counted.
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

  void call_for_others() {
    const auto count = to_integer(environment_variable("HEADROOM_DISPATCH_CALLS").value_or("0"));
    if (!count || *count < 1) return;
    for (const int times : {1, static_cast<int>(*count)}) {  // what is done once is done at first
      for (const char* kind : kKinds) {
        if (!operands_of(kind).empty()) calls(kind, times);
      }
    }
  }

  void calls(std::string_view kind, int count) {
    if (kind == "hit") call_(operands_.placed);  // the cache may be empty
    counted_calls(operands_of(kind), kind == "miss", count);
  }

  const std::vector<at::Tensor>& operands_of(std::string_view kind) const {
    return kind == "plain" ? operands_.whole : kind == "local" ? operands_.local : operands_.placed;
  }

  /// Not inlined: bench/dispatch_instructions.py has callgrind count what runs inside of functions of this
  /// name.
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
  std::mt19937_64 order_;                  ///< the same on every rank: they communicate
  std::map<std::string, Column> columns_;  ///< what there are of this operator, by name
};

}  // namespace headroom::torch_runner
