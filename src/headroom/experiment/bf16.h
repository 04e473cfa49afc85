// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace headroom {

/// bfloat16: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
};

inline float to_float(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// Rounds to nearest even; a NaN stays a (quiet) NaN.
inline Bf16 to_bf16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  bits += 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>(bits >> 16)};
}

}  // namespace headroom
