// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/code_generation.h"

namespace headroom::native {

/// `stride` rows apart. Repeats the last row if there are fewer.
struct FourRows {
  std::size_t row[4];

  [[gnu::always_inline]] FourRows(std::size_t first, std::size_t stride, std::size_t rows) {
    HEADROOM_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) row[i] = first + i * stride < rows ? first + i * stride : rows - 1;
  }
  template <typename Sums>
  [[gnu::always_inline]] void store(const Sums& sums, float* y) const {
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) y[row[i]] = sums[i];
  }
};

/// Rows in groups of four: adjacent, or a quarter of the matrix apart and then the rest.
class RowGroups {
 public:
  [[gnu::always_inline]] RowGroups(std::size_t rows, bool apart)
      : rows_(rows), quarter_(apart ? rows / 4 : 0), count_(quarter_ + (rows - 4 * quarter_ + 3) / 4) {}
  [[gnu::always_inline]] std::size_t count() const { return count_; }
  [[gnu::always_inline]] FourRows at(std::size_t group) const {
    return group < quarter_ ? FourRows(group, quarter_, rows_) : FourRows(4 * group, 1, rows_);
  }

 private:
  std::size_t rows_, quarter_, count_;
};

constexpr std::size_t kBlockColumns = 32, kScaleBytes = 2;
constexpr std::size_t kInt8BlockBytes = kScaleBytes + kBlockColumns;
constexpr std::size_t kInt4BlockBytes = kScaleBytes + kBlockColumns / 2;

/// Converts a finite binary16 without a branch. The exponent biases differ by 112.
[[gnu::always_inline]] inline float block_scale(const std::byte* block) {
  std::uint16_t half;
  std::memcpy(&half, block, sizeof half);
  const std::uint32_t bits = half;
  const float magnitude = std::bit_cast<float>((bits & 0x7fffU) << 13U) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x8000U) << 16U);
}

/// x = q * step.
struct FixedPoint {
  float scale = 1;    ///< q = round(x * scale)
  float step = 0;     ///< 0 if x does not fit
  bool fits = false;  ///< false: x has NaN or infinity, or is too small for a step
};

/// First line of the memory of a prepared x; the rest follows.
constexpr std::size_t kHeaderBytes = 64;
struct FixedHeader {
  float step;     ///< x = q * step
  bool is_fixed;  ///< false: floats (FixedPoint::fits, or too many columns)
};
[[gnu::always_inline]] inline FixedHeader header_of(const std::byte* prepared) {
  FixedHeader header;
  std::memcpy(&header, prepared, sizeof header);
  return header;
}

/// The largest |q| is `most`; writes the header. Does not fit above `most_columns`. Not inlined: kernels of
/// every instruction set call it.
[[gnu::noinline]] FixedPoint fixed_point(const Bf16* x, std::size_t columns, float most,
                                         std::size_t most_columns, std::byte* prepared);

}  // namespace headroom::native
