// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/machine/perf_event.h"
#include "headroom/stats/quantile.h"
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
        order_(context.setup.seed) {}

  DispatchCycles cycles(int count) override {
    DispatchCycles cycles;
    for (int i = 0; i < count; ++i) cycle(cycles);
    return cycles;
  }

  DispatchDetails steps(int count) override {
    DispatchDetails details;
    dtensor::DispatchTimes times;
    mesh_->cache().set_times(&times);
    for (int i = 0; i < count; ++i) {
      mesh_->cache().clear();
      add_steps(times, details.miss);
      call_(operands_.placed);  // the first hit finds the caches as the miss left them
      add_steps(times, details.hit);
    }
    mesh_->cache().set_times(nullptr);
    count_cache(details);
    count_instructions(details);
    return details;
  }

  void calls(std::string_view kind, int count) override {
    const bool hit = kind == "hit";
    if (hit) call_(operands_.placed);  // the cache may be empty
    if (operands_of(kind).empty()) throw Error("the operator has no counterpart on plain tensors");
    counted_calls(operands_of(kind), kind == "miss", count);
  }

 private:
  enum class Kind { kPlain, kLocal, kPlaced };

  void cycle(DispatchCycles& cycles) {
    std::array<Kind, 3> kinds{Kind::kPlain, Kind::kLocal, Kind::kPlaced};
    std::shuffle(kinds.begin(), kinds.end(), order_);
    for (const Kind kind : kinds) {
      if (kind == Kind::kPlain && !operands_.whole.empty())
        cycles.plain_ns.push_back(typical(operands_.whole, true));
      if (kind == Kind::kLocal && !operands_.local.empty())
        cycles.local_ns.push_back(typical(operands_.local, true));
      if (kind != Kind::kPlaced) continue;
      // The block before left other memory in the caches: a miss shall differ from a hit by the propagation
      // alone.
      call_(operands_.placed);
      mesh_->cache().clear();
      cycles.miss_ns.push_back(time_call(call_, operands_.placed));
      cycles.hit_ns.push_back(typical(operands_.placed, false));
    }
  }

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

  void add_steps(dtensor::DispatchTimes& times, DispatchSteps& steps) {
    times = {};
    call_(operands_.placed);
    if (times.wrapped == 0) return;  // not an operator of the dispatcher
    const std::int64_t readings[] = {times.started, times.keyed,    times.found,
                                     times.moved,   times.computed, times.wrapped};
    for (std::size_t i = 0; i < std::size(kDispatchSteps); ++i) {
      steps[kDispatchSteps[i]].push_back(static_cast<double>(readings[i + 1] - readings[i]));
    }
  }

  void count_cache(DispatchDetails& details) {
    const auto& cache = mesh_->cache();
    mesh_->cache().clear();
    const std::uint64_t hits = cache.hits(), misses = cache.misses();
    for (std::size_t i = 0; i < 1 + times_.size(); ++i) call_(operands_.placed);
    details.cache_hits = cache.hits() - hits;
    details.cache_misses = cache.misses() - misses;
    details.cache_size = cache.size();
  }

  void count_instructions(DispatchDetails& details) {
    const InstructionCounter counter;
    if (!counter.absence().empty()) return;
    for (const char* kind : {"plain", "local", "miss", "hit"}) {
      if (operands_of(kind).empty()) continue;
      const auto before = counter.read();
      calls(kind, kCounted);
      const auto after = counter.read();
      if (before && after) details.instructions[kind] = (*after - *before) / kCounted;
    }
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
  std::mt19937_64 order_;  ///< the same on every rank: they communicate
};

}  // namespace headroom::torch_runner
