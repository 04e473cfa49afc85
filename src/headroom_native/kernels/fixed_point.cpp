// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/fixed_point.h"

#include "headroom/experiment/bf16.h"

namespace headroom::native {

FixedPoint fixed_point(std::uint16_t largest_bits, float most) {
  constexpr float kLeast = 1e-25F;  // below, 1 / step would not be a float
  constexpr std::uint16_t kInfinity = 0x7f80;
  const float largest = to_float(Bf16{largest_bits});
  FixedPoint point;
  point.fits = largest_bits < kInfinity && (largest_bits == 0 || largest >= kLeast);
  if (!point.fits) return point;
  if (largest_bits != 0) point.scale = most / largest;
  point.step = static_cast<float>(1 / static_cast<double>(point.scale));
  return point;
}

}  // namespace headroom::native
