// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/reference_kernels.h"

#include <cmath>
#include <cstdint>

#include "headroom_native/kernels/norm_kernel.h"

namespace headroom::native {
namespace {

float as_float(Bf16 value) {
  return to_float(value);
}
float as_float(std::int8_t value) {
  return value;
}

template <typename Weight>
void gemv(const Weight* weights, std::size_t rows, std::size_t columns, const Bf16* x, float* y) {
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += as_float(weights[row * columns + k]) * to_float(x[k]);
    y[row] = sum;
  }
}

}  // namespace

void reference_gemv(std::string_view dtype, const std::byte* weights, std::size_t rows, std::size_t columns,
                    const Bf16* x, float* y) {
  if (dtype == "bf16") {
    gemv(reinterpret_cast<const Bf16*>(weights), rows, columns, x, y);
  } else {
    gemv(reinterpret_cast<const std::int8_t*>(weights), rows, columns, x, y);
  }
}

void reference_layer_norm(const float* x, std::size_t columns, const float* gamma, const float* beta,
                          Bf16* y) {
  const auto count = static_cast<float>(columns);
  float sum = 0;
  for (std::size_t k = 0; k < columns; ++k) sum += x[k];
  const float mean = sum / count;
  float squares = 0;
  for (std::size_t k = 0; k < columns; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const float scale = 1 / std::sqrt(squares / count + kNormEpsilon);
  for (std::size_t k = 0; k < columns; ++k) y[k] = to_bf16((x[k] - mean) * scale * gamma[k] + beta[k]);
}

}  // namespace headroom::native
