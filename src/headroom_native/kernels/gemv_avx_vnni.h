// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/gemv_kernel.h"

namespace headroom::native {

#if defined(__x86_64__)
/// Weights of int8, x as fixed point of 16 bits, by vpdpbusd on 32 bytes (Isa::kAvxVnni).
GemvKernel gemv_avx_vnni();
#endif

}  // namespace headroom::native
