// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/launch_samples.h"

#include <cstdint>
#include <utility>

namespace headroom::cuda {

void measure_on_device(State& state, Device& device, const Launch& launch, Surround around_capture,
                       Capture capture) {
  LaunchTimer timer(device, launch, state.copies(), std::move(around_capture), capture);
  state.note("launches", timer.launches_one_by_one() ? "one by one" : "captured into graphs");
  state.measure_batches([&](std::uint64_t iterations) { return timer.time(iterations); });
}

}  // namespace headroom::cuda
