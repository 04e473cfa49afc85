// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/kernels/sve_target.h"

/// Kernels on vectors whose length the CPU says (128 to 2048 bits). Each may be called only where isa.h says
/// that this CPU has what it is named after.
namespace headroom::native {

#if HEADROOM_HAS_SVE
/// `dtype` bf16 or int8: weights to f32, as exact as that (SVE).
GemvKernel gemv_sve_exact(std::string_view dtype);
/// Weights of int8, x as fixed point of 16 bits, by sdot (SVE).
GemvKernel gemv_sve_dot();
/// Weights of bf16, products of bf16 in pairs, by bfdot (SVE and FEAT_BF16).
GemvKernel gemv_sve_bf16();
#endif

}  // namespace headroom::native
