// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/experiment/state.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {

/// Poisons `y`, launches once on copy 0, and verifies the start of `y` (State::verify). `device`, `y` and
/// what `launch` refers to must live until the measurement ends.
template <typename T>
void verify_on_device(State& state, Device& device, const Launch& launch, DeviceBuffer& y,
                      std::span<const double> expected, Tolerance tolerance) {
  const auto actual = std::make_shared<std::vector<T>>(expected.size());
  const auto run = [&device, &y, launch, actual] {
    y.poison();
    launch(0, device.stream());
    device.synchronize();
    y.download(std::span(*actual));
  };
  state.verify(run, std::span(*actual), expected, tolerance);
}

inline void require_start(const State& state, const Device& device, Start start) {
  if (start == Start::kAfterPrevious || device.compute_capability() >= 90) return;
  state.skip("early launches need compute capability 9.0 or newer");
}

/// Notes the plan's variant. Skips the case if the device does not support it or if another one was
/// requested.
template <typename Plan>
const Plan& noted(State& state, const Device& device, const Plan& plan) {
  if (!state.variant().empty() && state.variant() != plan.name()) {
    state.skip("the variant " + quote(state.variant()) + " does not support rows this long; " +
               quote(plan.name()) + " does");
  }
  require_start(state, device, plan.start);
  state.note("variant", plan.name());
  return plan;
}

}  // namespace headroom::cuda
