// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom::native {

/// How the kernels of int8 write x as integers: rounded once to q, x = q * step.
struct FixedPoint {
  float scale = 1;    ///< q = round(x * scale)
  float step = 0;     ///< x = q * step; 0 where x does not fit
  bool fits = false;  ///< false: x has NaN, infinities, or is too small for a step
};

/// For an x whose largest magnitude is the bf16 of these bits (sign cleared), so that the largest |q| is
/// `most`. A function of its own file, that is of no instruction set: the kernels of all call it.
FixedPoint fixed_point(std::uint16_t largest_bits, float most);

}  // namespace headroom::native
