// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch.h"

namespace headroom::cuda {

/// Poisons `y`, launches once on copy 0, and compares the values of type T at its start with `expected`
/// (State::verify).
template <typename T>
void verify_on_device(State& state, Device& device, const Launch& launch, DeviceBuffer& y,
                      std::span<const double> expected, Tolerance tolerance) {
  std::vector<T> actual(expected.size());
  const auto run = [&] {
    y.poison();
    launch(0, device.stream());
    device.synchronize();
    y.download(std::span(actual));
  };
  state.verify(run, std::span(actual), expected, tolerance);
}

}  // namespace headroom::cuda
