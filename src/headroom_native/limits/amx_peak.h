// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom_native/limits/peak_kernels.h"

namespace headroom::native {

/// Products of tiles of 16 x 64 bytes: dtype bf16 or int8. Asks the kernel for the permission to use tiles.
PeakKernel amx_peak_kernel(std::string_view dtype, Isa isa);

}  // namespace headroom::native
