// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/kernels/sve_target.h"

namespace headroom::native {

#if HEADROOM_HAS_SVE
/// `rows` on vectors of the length that the CPU has (SVE); `vector` is the portable one.
NormKernel norm_sve();
#endif

}  // namespace headroom::native
