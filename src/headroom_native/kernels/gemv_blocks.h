// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom_native/kernels/gemv_kernel.h"

namespace headroom::native {

/// Weights in blocks of 32 along a row, each with a scale of binary16 before it: "int8_g32" (ggml's Q8_0) or
/// "int4" (Q4_0). Columns are a multiple of 32. Where the CPU multiplies bytes x is 16-bit fixed point (error
/// 3e-5 of the largest |x|).
GemvKernel gemv_blocks(std::string_view dtype, Isa isa);

/// The kernel that Highway makes of plain vectors, products and sums in f32: there on every CPU.
GemvKernel portable_gemv_blocks(std::string_view dtype, Isa isa);

}  // namespace headroom::native
