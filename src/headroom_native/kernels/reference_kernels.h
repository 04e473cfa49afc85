// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom/experiment/bf16.h"

/// The backend "reference": plain loops in f32 on one thread, what a straightforward program does.
namespace headroom::native {

/// y[row] = sum over columns of weights[row][column] * x[column]; weights of `dtype` "bf16" or "int8".
void reference_gemv(std::string_view dtype, const std::byte* weights, std::size_t rows, std::size_t columns,
                    const Bf16* x, float* y);

/// LayerNorm of one row.
void reference_layer_norm(const float* x, std::size_t columns, const float* gamma, const float* beta,
                          Bf16* y);

}  // namespace headroom::native
