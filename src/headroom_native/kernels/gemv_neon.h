// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/gemv_kernel.h"

/// Kernels on instructions of aarch64 that Highway does not offer. Each may be called only where isa.h says
/// that this CPU has what it is named after.
namespace headroom::native {

#if defined(__aarch64__)
/// Weights of int8, x as fixed point of 16 bits (FEAT_DotProd).
GemvKernel gemv_neon_dot();
/// Weights of bf16, products of bf16 in pairs (FEAT_BF16).
GemvKernel gemv_neon_bf16();
#endif

}  // namespace headroom::native
