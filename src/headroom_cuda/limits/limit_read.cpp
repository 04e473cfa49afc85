// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/limit_read.h"

#include <numeric>
#include <vector>

#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/limits/bandwidth_kernels.h"
#include "headroom_cuda/limits/limit_plan.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {
namespace {

/// Copy 0, read with all of its passes, against the sum of the words that were written there.
void verify_sum(State& state, const Device& device, const LimitPlan& plan, const Launch& launch,
                const DeviceBuffer& sums) {
  const std::size_t words = plan.bytes / sizeof(std::uint32_t);
  fill_words(reinterpret_cast<std::uint32_t*>(plan.start(0)), words * (plan.stride > 0 ? plan.passes : 1),
             device.stream());
  std::uint32_t expected = 0;
  for (std::size_t pass = 0; pass < plan.passes; ++pass) {
    expected += sum_of_words(plan.stride > 0 ? pass * words : 0, words);
  }
  std::vector<double> sum(1);
  const auto run = [&] {
    launch(0, device.stream());
    device.synchronize();
    std::vector<std::uint32_t> values(sums.bytes() / sizeof(std::uint32_t));
    sums.download(std::span(values));
    sum[0] = std::accumulate(values.begin(), values.end(), std::uint32_t{0});
  };
  state.verify(run, sum, std::vector<double>{static_cast<double>(expected)}, {0, 0});
}

}  // namespace

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

}  // namespace headroom::cuda
