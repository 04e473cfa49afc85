// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/limits/bandwidth_kernels.h"
#include "headroom_cuda/limits/limits.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

/// Several passes per iteration amortise launch and tail. Cold: copies that together exceed twice the L2.
struct LimitPlan {
  std::size_t bytes = 0;   ///< of one pass: whole units, at most the requested size
  std::size_t stride = 0;  ///< from the start of one pass to the next; 0 when hot
  std::size_t passes = 1;
  std::shared_ptr<DeviceBuffer> memory;

  std::byte* start(std::size_t copy) const { return memory->data() + copy * passes * stride; }
  double bytes_per_iteration() const { return static_cast<double>(bytes) * static_cast<double>(passes); }
};

constexpr std::size_t kTile = std::size_t{kWalkThreads} * kVectorsInFlight;
constexpr std::size_t kCopyTile = std::size_t{kCopyTileThreads} * kCopyTileVectors * kCopyTileTurns;

std::size_t rounded_up_quotient(std::size_t value, std::size_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// About 100 µs: a kernel starts and ends within 2 to 3 µs.
constexpr std::size_t kBytesPerIteration = std::size_t{512} << 20;
/// Working sets of similar size share memory.
constexpr std::size_t kArenaUnit = std::size_t{256} << 20;

std::shared_ptr<DeviceBuffer> arena(State& state, std::size_t bytes) {
  const std::size_t rounded = bytes < kArenaUnit ? bytes : (bytes + kArenaUnit - 1) / kArenaUnit * kArenaUnit;
  return state.shared<DeviceBuffer>("limit bytes=" + std::to_string(rounded),
                                    [&] { return std::make_shared<DeviceBuffer>(state, rounded); });
}

/// Rounds the axis `bytes` down to a multiple of `unit`; skips the case if nothing is left or memory is
/// insufficient.
LimitPlan plan_limit(State& state, std::size_t unit) {
  LimitPlan plan;
  plan.bytes = limit_bytes(state, unit);
  const bool hot = state.caches() == Caches::kHot;
  plan.passes = std::max<std::size_t>(1, kBytesPerIteration / plan.bytes);
  const std::size_t copies = state.rotate(plan.bytes * plan.passes);
  plan.stride = hot ? 0 : plan.bytes;
  // The product below could wrap.
  if (plan.bytes > kBytesPerIteration) DeviceBuffer(state, plan.bytes);
  plan.memory = arena(state, hot ? plan.bytes : copies * plan.passes * plan.bytes);
  state.note("passes", std::to_string(plan.passes));
  return plan;
}

/// Modulo 2^32.
std::uint32_t total_of(const DeviceBuffer& sums) {
  std::vector<std::uint32_t> values(sums.bytes() / sizeof(std::uint32_t));
  sums.download(std::span(values));
  return std::accumulate(values.begin(), values.end(), std::uint32_t{0});
}

void verify_sum(State& state, const Device& device, const LimitPlan& plan, const Launch& launch,
                const DeviceBuffer& sums) {
  const std::size_t words = plan.bytes / sizeof(std::uint32_t);
  std::uint32_t expected = 0;
  for (std::size_t pass = 0; pass < plan.passes; ++pass) {
    expected += sum_of_words(plan.stride > 0 ? pass * words : 0, words);
  }
  const auto sum = std::make_shared<std::vector<double>>(1);
  const auto run = [&plan, &launch, &device, &sums, words, sum] {
    // Other limits write to the same memory.
    fill_words(reinterpret_cast<std::uint32_t*>(plan.start(0)), words * (plan.stride > 0 ? plan.passes : 1),
               device.stream());
    launch(0, device.stream());
    device.synchronize();
    sum->front() = total_of(sums);
  };
  state.verify(run, *sum, std::vector<double>{static_cast<double>(expected)}, {0, 0});
}

/// Sums modulo 2^32; `bytes` is a multiple of 16.
std::uint32_t sum_on_device(const State& state, const Device& device, const std::byte* from,
                            std::size_t bytes) {
  const Walk walk = walk_of("linear", bytes / 16, 0, 1, resident_blocks(device.multiprocessors()));
  DeviceBuffer sums(state, warps_of(walk) * sizeof(std::uint32_t));
  read_walk(from, walk, sums.as<std::uint32_t>(), device.stream());
  device.synchronize();
  return total_of(sums);
}

constexpr std::uint32_t kWord = 0x3f9d70a5;  // 1.23 as a float: mixed bits

}  // namespace

Walk walk_of(std::string_view pattern, std::size_t vectors, std::size_t stride, std::size_t passes,
             unsigned resident) {
  const bool copies = pattern == "copy_tiles";
  const std::size_t tile = copies ? kCopyTile : kTile;
  const std::size_t tiles = rounded_up_quotient(vectors, tile);
  Walk walk{
      vectors, stride, 0, static_cast<unsigned>(passes), 1, 1, copies ? kCopyTileThreads : kWalkThreads};
  if (copies || pattern == "tiles") {
    walk.chunk = tile;
    walk.team = static_cast<unsigned>(tiles);
    walk.blocks = static_cast<unsigned>(tiles * passes);
    return walk;
  }
  walk.team = static_cast<unsigned>(std::min<std::size_t>(resident, tiles));
  const std::size_t teams = std::min<std::size_t>(passes, resident / walk.team);
  walk.blocks = static_cast<unsigned>(teams * walk.team);
  if (pattern == "blocked") walk.chunk = rounded_up_quotient(tiles, walk.team) * kTile;
  return walk;
}

void limit_read(State& state) {
  const auto device = device_of(state);
  const LimitPlan plan = plan_limit(state, sizeof(uint4));
  const Walk walk = walk_of(state.text("pattern"), plan.bytes / sizeof(uint4), plan.stride / sizeof(uint4),
                            plan.passes, resident_blocks(device->multiprocessors()));
  DeviceBuffer sums(state, warps_of(walk) * sizeof(std::uint32_t));
  const Launch launch = [&](std::size_t copy, cudaStream_t stream) {
    read_walk(plan.start(copy), walk, sums.as<std::uint32_t>(), stream);
  };
  state.work({.bytes = plan.bytes_per_iteration()});
  verify_sum(state, *device, plan, launch, sums);
  measure_on_device(state, *device, launch);
}

void limit_write(State& state) {
  const auto device = device_of(state);
  const LimitPlan plan = plan_limit(state, sizeof(uint4));
  const std::string pattern = state.text("pattern");
  const bool evict_first = pattern != "plain";
  const Walk walk =
      walk_of(pattern == "tiles" ? "tiles" : "linear", plan.bytes / sizeof(uint4),
              plan.stride / sizeof(uint4), plan.passes, resident_blocks(device->multiprocessors()));
  const Launch launch = [&](std::size_t copy, cudaStream_t stream) {
    write_walk(plan.start(copy), walk, kWord, evict_first, stream);
  };
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration()});
  const std::size_t touched = plan.bytes * (plan.stride > 0 ? plan.passes : 1);
  const auto expected = static_cast<std::uint32_t>(kWord * (touched / sizeof kWord));
  std::vector<double> sum(1);
  const auto run = [&] {
    plan.memory->poison();
    launch(0, device->stream());
    sum[0] = sum_on_device(state, *device, plan.start(0), touched);
  };
  state.verify(run, sum, std::vector<double>{static_cast<double>(expected)}, {0, 0});
  measure_on_device(state, *device, launch);
}

void limit_copy(State& state) {
  const auto device = device_of(state);
  const LimitPlan plan = plan_limit(state, 2 * sizeof(uint4));
  const std::size_t half = plan.bytes / 2;
  const std::string pattern = state.text("pattern");
  const bool evict_first = pattern != "plain";
  const Walk walk =
      walk_of(pattern == "tiles" ? "copy_tiles" : "linear", half / sizeof(uint4), plan.stride / sizeof(uint4),
              plan.passes, resident_blocks(device->multiprocessors()));
  const Launch launch = [&](std::size_t copy, cudaStream_t stream) {
    copy_walk(plan.start(copy), plan.start(copy) + half, walk, evict_first, stream);
  };
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration() / 2});
  const std::size_t last = plan.stride > 0 ? (plan.passes - 1) * plan.stride : 0;
  const std::size_t words = half / sizeof(std::uint32_t);
  std::vector<double> sum(1);
  const auto run = [&] {
    plan.memory->poison();
    fill_words(reinterpret_cast<std::uint32_t*>(plan.start(0) + last), words, device->stream());
    launch(0, device->stream());
    sum[0] = sum_on_device(state, *device, plan.start(0) + last + half, half);
  };
  state.verify(run, sum, std::vector<double>{static_cast<double>(sum_of_words(0, words))}, {0, 0});
  measure_on_device(state, *device, launch);
}

}  // namespace headroom::cuda
