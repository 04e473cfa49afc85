// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {

/// Gives samples of `launch` until the case is released, timed on the device (LaunchTimer), with the copies
/// that State::rotate said. Notes whether launches are captured into graphs. `around_capture`, where it is
/// given, calls what captures launches: for an allocator that must know.
void measure_on_device(State& state, Device& device, const Launch& launch, Surround around_capture = {},
                       Capture capture = Capture::kShort);

}  // namespace headroom::cuda
