// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/limit_write.h"

#include <vector>

#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/limits/bandwidth_kernels.h"
#include "headroom_cuda/limits/limit_plan.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {
namespace {

constexpr std::uint32_t kWord = 0x3f9d70a5;  // 1.23 as a float: bits of either kind

}  // namespace

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

}  // namespace headroom::cuda
