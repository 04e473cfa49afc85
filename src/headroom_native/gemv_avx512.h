// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "headroom_native/gemv_kernel.h"

namespace headroom::native {

/// Kernels on instructions that Highway does not offer: bf16 products (AVX512-BF16) and byte products
/// (AVX512-VNNI). Nothing where `isa` or this CPU does not have them.
std::optional<GemvKernel> gemv_avx512_kernel(std::string_view dtype, Isa isa);

}  // namespace headroom::native
