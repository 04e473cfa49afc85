// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch.h"

namespace headroom::cuda {

/// Gives samples of `launch` until the case is released, timed on the device (LaunchTimer), with the copies
/// that State::rotate said.
void measure_on_device(State& state, Device& device, const Launch& launch);

}  // namespace headroom::cuda
