// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/limit_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "headroom/workload/limit_bytes.h"
#include "headroom_cuda/limits/bandwidth_kernels.h"

namespace headroom::cuda {
namespace {

/// Some 100 µs: a kernel begins and ends within two or three.
constexpr std::size_t kBytesPerIteration = std::size_t{512} << 20;
/// Sizes are rounded up to this, so that working sets of about the same size share their memory.
constexpr std::size_t kArenaUnit = std::size_t{256} << 20;

std::shared_ptr<DeviceBuffer> arena(State& state, std::size_t bytes) {
  const std::size_t rounded = bytes < kArenaUnit ? bytes : (bytes + kArenaUnit - 1) / kArenaUnit * kArenaUnit;
  return state.shared<DeviceBuffer>("limit bytes=" + std::to_string(rounded),
                                    [&] { return std::make_shared<DeviceBuffer>(state, rounded); });
}

}  // namespace

LimitPlan plan_limit(State& state, std::size_t unit) {
  LimitPlan plan;
  plan.bytes = limit_bytes(state, unit);
  const bool hot = state.caches() == Caches::kHot;
  plan.passes = std::max<std::size_t>(1, kBytesPerIteration / plan.bytes);
  const std::size_t copies = state.rotate(plan.bytes * plan.passes);
  plan.stride = hot ? 0 : plan.bytes;
  // Its own size first: the product of a size that no device has could wrap.
  if (plan.bytes > kBytesPerIteration) DeviceBuffer(state, plan.bytes);
  plan.memory = arena(state, hot ? plan.bytes : copies * plan.passes * plan.bytes);
  state.note("passes", std::to_string(plan.passes));
  return plan;
}

std::uint32_t sum_on_device(const State& state, const Device& device, const std::byte* from,
                            std::size_t bytes) {
  const Walk walk = walk_of("linear", bytes / 16, 0, 1, resident_blocks(device.multiprocessors()));
  DeviceBuffer sums(state, warps_of(walk) * sizeof(std::uint32_t));
  read_walk(from, walk, sums.as<std::uint32_t>(), device.stream());
  device.synchronize();
  std::vector<std::uint32_t> values(warps_of(walk));
  sums.download(std::span(values));
  return std::accumulate(values.begin(), values.end(), std::uint32_t{0});
}

}  // namespace headroom::cuda
