// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "headroom/trace/recording/device_activity.h"

namespace headroom::cuda {

/// How many blocks of the kernel fit on a multiprocessor at the same time, by registers, shared memory and
/// threads: the arithmetic of NVIDIA's cuda_occupancy.h. 0 where the device is not described well enough, or
/// is one that this toolkit does not know.
std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel);

}  // namespace headroom::cuda
