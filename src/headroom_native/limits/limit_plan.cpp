// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_plan.h"

#include <algorithm>
#include <string>

#include "headroom/workload/limit_bytes.h"

namespace headroom::native {
namespace {

/// From L1, 16 MiB take some 30 µs, a hundred times what a fork and a join take.
constexpr std::size_t kHotBytesPerIteration = std::size_t{16} << 20;
/// From memory, 4 MiB take longer than that.
constexpr std::size_t kColdBytesPerIteration = std::size_t{4} << 20;
/// Sizes are rounded up to this, so that working sets of about the same size share their memory.
constexpr std::size_t kArenaUnit = std::size_t{64} << 20;

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::shared_ptr<Buffer> arena(State& state, std::size_t bytes) {
  const std::size_t rounded = bytes < kArenaUnit ? bytes : rounded_up(bytes, kArenaUnit);
  return state.shared<Buffer>("limit bytes=" + std::to_string(rounded), [&] {
    state.require_memory(rounded);
    auto memory = std::make_shared<Buffer>(rounded);
    return memory;
  });
}

}  // namespace

LimitPlan plan_limit(State& state, std::size_t unit) {
  LimitPlan plan;
  plan.bytes = limit_bytes(state, unit);
  // Checked before rounding up: a wrapped sum would look small.
  state.require_memory(plan.bytes);
  const bool hot = state.caches() == Caches::kHot;
  const std::size_t goal = hot ? kHotBytesPerIteration : kColdBytesPerIteration;
  plan.passes = std::max<std::size_t>(1, goal / plan.bytes);
  plan.iterations = state.rotate(plan.bytes * plan.passes);
  plan.stride = hot ? 0 : plan.bytes;
  plan.memory = arena(state, hot ? plan.bytes : plan.iterations * plan.passes * plan.stride);
  state.note("passes", std::to_string(plan.passes));
  return plan;
}

}  // namespace headroom::native
