// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/text.h"
#include "headroom/experiment/state.h"
#include "headroom_cuda/kernels/launch_start.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {

/// Skips the case where launches do not start so on this device.
inline void require_start(const State& state, const Device& device, Start start) {
  if (start == Start::kBehindOther || device.compute_capability() >= 90) return;
  state.skip("a launch starts early on devices of compute capability 9.0 and later only");
}

/// Notes which form of a kernel runs. Skips the case where the device or the wanted variant cannot do it, so
/// that `plan` is another.
template <typename Plan>
const Plan& noted(State& state, const Device& device, const Plan& plan) {
  if (!state.variant().empty() && state.variant() != plan.name()) {
    state.skip("the variant " + in_quotes(state.variant()) + " does not hold such rows; " +
               in_quotes(plan.name()) + " does");
  }
  require_start(state, device, plan.start);
  state.note("variant", plan.name());
  return plan;
}

}  // namespace headroom::cuda
