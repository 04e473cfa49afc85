// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headroom::native {

/// Numbers of a block, and the bytes of its scale before them.
constexpr std::size_t kBlockColumns = 32, kScaleBytes = 2;
constexpr std::size_t kInt8BlockBytes = kScaleBytes + kBlockColumns;
constexpr std::size_t kInt4BlockBytes = kScaleBytes + kBlockColumns / 2;

/// A finite binary16 as a float, without a branch: the exponent's bias is 112 less.
[[gnu::always_inline]] inline float block_scale(const std::byte* block) {
  std::uint16_t half;
  std::memcpy(&half, block, sizeof half);
  const std::uint32_t bits = half;
  const float magnitude = std::bit_cast<float>((bits & 0x7fffU) << 13U) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x8000U) << 16U);
}

}  // namespace headroom::native
