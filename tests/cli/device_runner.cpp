// SPDX-License-Identifier: Apache-2.0
// A runner whose cases claim to run on a GPU.
#include <chrono>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom_nvml/nvml.h"

namespace {

void on_device(headroom::State& state) {
  state.watch_device(headroom::nvml::watch_gpu("0000:02:00.0"));
  state.work({.flops = 1e6, .dtype = "f32"});
  state.measure_batches([](std::uint64_t iterations) {
    const auto start = std::chrono::steady_clock::now();
    const auto until = start + std::chrono::microseconds(20 * iterations);
    while (std::chrono::steady_clock::now() < until) {
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  });
}
HEADROOM_EXPERIMENT(on_device).device("cuda");

/// 4000 GB/s up to 32 MiB, half beyond.
void bandwidth(headroom::State& state) {
  const auto bytes = static_cast<double>(state.integer("bytes"));
  state.work({.bytes = bytes});
  double jitter = 0;
  state.measure_batches([&](std::uint64_t iterations) {
    jitter = jitter < 0.02 ? jitter + 0.005 : 0;
    return static_cast<double>(iterations) * bytes / (bytes <= (32 << 20) ? 4000 : 2000) * (1 + jitter);
  });
}

[[maybe_unused]] const bool registered = [] {
  headroom::Registry& registry = headroom::registry();
  registry.describe_devices_with(headroom::nvml::describe_gpus);
  registry.add("limit.read", bandwidth)
      .device("cuda")
      .limit()
      .axis("bytes", {1 << 20, 1 << 24, 1 << 28, 1 << 30});
  return true;
}();

}  // namespace
