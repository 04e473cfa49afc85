// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/device_description.h"

namespace headroom::cuda {

/// What CUDA says of the devices that this process sees, the one that cases run on first. Throws Error where
/// CUDA cannot be asked.
std::vector<DeviceDescription> visible_devices();

/// One list of both: of each of `seen` what `told` says of the GPU at its place on the PCI bus, with what
/// only CUDA knows; then the rest of `told`.
std::vector<DeviceDescription> merged(const std::vector<DeviceDescription>& seen,
                                      std::vector<DeviceDescription> told);

/// The GPUs of this machine, for Registry::describe_devices_with: those that cases can run on first. Never
/// throws Error.
std::vector<DeviceDescription> describe_devices();

}  // namespace headroom::cuda
