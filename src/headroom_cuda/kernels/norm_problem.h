// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace headroom::cuda {

/// y = LayerNorm(x) over rows of x[rows, columns]. Pointers are to memory of the device, from multiples of 16
/// bytes on.
struct NormProblem {
  const std::uint16_t* x = nullptr;  ///< of bf16, as y
  const float* gamma = nullptr;      ///< [columns], as beta
  const float* beta = nullptr;
  std::uint16_t* y = nullptr;
  std::uint32_t rows = 0, columns = 0;
  float epsilon = 0;  ///< added to the variance
};

/// How many vectors of 16 bytes of a row a thread holds, and what that leaves registers for.
struct NormForm {
  int vectors;
  unsigned threads;  ///< of a block, at most
  unsigned blocks;   ///< of that many threads that a multiprocessor runs at once
};
/// Those that are compiled. Rows that begin anywhere have no room for the last one.
inline constexpr std::array<NormForm, 3> kNormForms{{{1, 512, 2}, {2, 256, 3}, {4, 512, 1}}};
/// The one of so many vectors.
constexpr NormForm norm_form(int vectors) {
  return vectors == 1 ? kNormForms[0] : vectors == 2 ? kNormForms[1] : kNormForms[2];
}
inline constexpr NormForm kLongNormForm{0, 512, 1};  ///< rows too long for registers

}  // namespace headroom::cuda
