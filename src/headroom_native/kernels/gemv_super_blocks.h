// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom_native/kernels/gemv_kernel.h"

namespace headroom::native {

/// Weights in blocks of 256 along a row, as ggml's K-quants have them: "q4_k", "q5_k" or "q6_k". Columns are
/// a multiple of 256. From AVX2 on (and on aarch64) x is 16-bit fixed point (error 3e-5 of the largest |x|),
/// and the products of a part that shares a scale are summed exactly; on the baseline of x86 all is f32.
GemvKernel gemv_super_blocks(std::string_view dtype, Isa isa);

/// to = `columns` numbers of a row of one of these, rounded to bf16; lines that lie `ahead` bytes behind are
/// prefetched, 0: none.
using UnpackSuperBlocks = void (*)(std::string_view dtype, const std::byte* from, std::size_t columns,
                                   std::size_t ahead, Bf16* to);
UnpackSuperBlocks unpack_super_blocks(Isa isa);

}  // namespace headroom::native
