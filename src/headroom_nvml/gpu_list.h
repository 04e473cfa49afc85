// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/experiment/device_description.h"

namespace headroom::nvml {

/// All GPUs of this machine that NVML shows to this process, in the order of the PCI bus. Empty where NVML is
/// not there. What a driver does not tell is left out; the size of the L2 cache is never among what NVML
/// tells.
std::vector<DeviceDescription> describe_gpus();

}  // namespace headroom::nvml
