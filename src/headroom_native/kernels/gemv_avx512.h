// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/gemv_kernel.h"

/// Kernels on instructions that Highway does not offer. Each may be called only where isa.h says that this
/// CPU has what it is named after.
namespace headroom::native {

#if defined(__x86_64__)
/// Weights of bf16, products of bf16 in pairs (AVX512-BF16).
GemvKernel gemv_avx512_bf16();
/// Weights of int8, x as fixed point of 16 bits, or of 24 where `strict` (AVX512-VNNI).
GemvKernel gemv_avx512_vnni(bool strict);
/// Weights of int8, made bf16 by tables of 128 entries in registers (AVX512-VBMI and AVX512-BF16).
GemvKernel gemv_avx512_table();
/// Weights in blocks (gemv_blocks.h) of 4 or 8 bits, x as fixed point of 16 bits (AVX512-VNNI).
GemvKernel gemv_avx512_blocks(bool is_int4);
#endif

}  // namespace headroom::native
