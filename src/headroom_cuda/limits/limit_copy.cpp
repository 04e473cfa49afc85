// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/limit_copy.h"

#include <vector>

#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/limits/bandwidth_kernels.h"
#include "headroom_cuda/limits/limit_plan.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {

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
  // The last pass: each before it copies within memory of its own, or all within the same.
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
