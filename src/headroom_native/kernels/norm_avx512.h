// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/norm_kernel.h"

namespace headroom::native {

#if defined(__x86_64__)
/// `rows` by products of bf16 in pairs (AVX512-BF16); only where isa.h says that this CPU has them. The
/// parameters are prepared as portable_norm_kernel prepares them.
NormKernel norm_avx512_bf16();
#endif

}  // namespace headroom::native
