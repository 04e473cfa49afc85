// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

/// sdot sums four products of signed bytes in 32 bits, bfdot two of bf16. Assembly needs no compiler options
/// or function attributes.
namespace headroom::native {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kVector = 16;  // bytes

[[gnu::always_inline]] inline void add_products(int32x4_t& sum, int8x16_t a, int8x16_t b) {
  asm(".arch armv8.6-a\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
}
[[gnu::always_inline]] inline void add_products(float32x4_t& sum, uint16x8_t a, uint16x8_t b) {
  asm(".arch armv8.6-a\n\tbfdot %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
}

#include "headroom_native/kernels/gemv/gemv_walks.h"

/// q = 256 hi + lo in signed bytes: 16 of hi and 16 of lo per 16 columns, zero-padded.
constexpr float kLargest = 127.0F * 257;
/// A lane's sum of products of at most 128 * 128 stays below 2^31.
constexpr std::size_t kMostColumns = std::size_t{1} << 18;

const GemvKernel& exact_kernel() {
  static const GemvKernel kernel = portable_gemv_kernel("int8", Isa::kBaseline);
  return kernel;
}

[[gnu::always_inline]] inline int16x8_t fixed(const std::uint16_t* x, float32x4_t scale) {
  const float32x4_t most = vdupq_n_f32(kLargest);
  const uint16x8_t bits = vld1q_u16(x);
  const auto half = [&](uint16x4_t part) {
    const float32x4_t scaled = vmulq_f32(vreinterpretq_f32_u32(vshll_n_u16(part, 16)), scale);
    // Rounding the scale may push the largest x out of range.
    return vmovn_s32(vcvtnq_s32_f32(vmaxq_f32(vminq_f32(scaled, most), vnegq_f32(most))));
  };
  return vcombine_s16(half(vget_low_u16(bits)), half(vget_high_u16(bits)));
}

void prepare_planes(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, kLargest, kMostColumns, prepared);
  if (!point.fits) return exact_kernel().prepare(x, columns, prepared + kLine);
  auto* planes = reinterpret_cast<std::int8_t*>(prepared + kLine);
  for (std::size_t k = 0; k < columns; k += kVector, planes += 2 * kVector) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(x + k);
    std::uint16_t last[kVector] = {};
    if (columns - k < kVector) {
      std::memcpy(last, from, (columns - k) * sizeof(Bf16));
      from = last;
    }
    const int16x8_t q0 = fixed(from, vdupq_n_f32(point.scale)),
                    q1 = fixed(from + 8, vdupq_n_f32(point.scale));
    const int8x8_t high0 = vrshrn_n_s16(q0, 8), high1 = vrshrn_n_s16(q1, 8);
    vst1q_s8(planes, vcombine_s8(high0, high1));
    vst1q_s8(planes + kVector, vcombine_s8(vmovn_s16(vsubq_s16(q0, vshll_n_s8(high0, 8))),
                                           vmovn_s16(vsubq_s16(q1, vshll_n_s8(high1, 8)))));
  }
}

struct PlanesKernel {
  using Weight = std::int8_t;

  template <int kRows, PrefetchHint kAhead>
  [[gnu::always_inline]] static void dot(const std::int8_t* const* rows, std::size_t columns,
                                         const std::byte* prepared, std::size_t ahead, float* y) {
    const auto* planes = reinterpret_cast<const std::int8_t*>(prepared);
    int32x4_t high[kRows][4], low[kRows][4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (int u = 0; u < 4; ++u) high[i][u] = low[i][u] = vdupq_n_s32(0);
    }
    // One sum per row hides latency with four rows.
    constexpr std::size_t kSums = 4 / kRows;
    std::size_t k = 0;
    for (; k + kLine <= columns; k += kLine) {
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) prefetch<kAhead>(rows[i] + k + ahead);
      HEADROOM_UNROLL(4)
      for (std::size_t v = 0; v < kLine / kVector; ++v) {
        const int8x16_t x_high = vld1q_s8(planes + 2 * (k + v * kVector));
        const int8x16_t x_low = vld1q_s8(planes + 2 * (k + v * kVector) + kVector);
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          const int8x16_t weights = vld1q_s8(rows[i] + k + v * kVector);
          add_products(high[i][v % kSums], weights, x_high);
          add_products(low[i][v % kSums], weights, x_low);
        }
      }
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (std::size_t u = 1; u < kSums; ++u) {
        high[i][0] = vaddq_s32(high[i][0], high[i][u]);
        low[i][0] = vaddq_s32(low[i][0], low[i][u]);
      }
      std::int64_t highs = vaddlvq_s32(high[i][0]), lows = vaddlvq_s32(low[i][0]);
      for (std::size_t at = k; at < columns; ++at) {
        const std::int8_t* x = planes + at / kVector * 2 * kVector + at % kVector;
        highs += rows[i][at] * x[0];
        lows += rows[i][at] * x[kVector];
      }
      y[i] = static_cast<float>(256 * highs + lows);
    }
  }
};

void multiply_planes(const std::byte* weights, std::size_t rows, std::size_t columns,
                     const std::byte* prepared, GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  if (!header.is_fixed) return exact_kernel().multiply(weights, rows, columns, prepared + kLine, walk, y);
  multiply<PlanesKernel>(weights, rows, columns, prepared + kLine, walk, y);
  for (std::size_t row = 0; row < rows; ++row) y[row] *= header.step;
}

void prepare_bf16(const Bf16* x, std::size_t columns, std::byte* prepared) {
  std::memcpy(prepared, x, columns * sizeof(Bf16));
}

struct Bf16Kernel {
  using Weight = Bf16;

  template <int kRows, PrefetchHint kAhead>
  [[gnu::always_inline]] static void dot(const Bf16* const* rows, std::size_t columns,
                                         const std::byte* prepared, std::size_t ahead, float* y) {
    constexpr std::size_t kColumns = kVector / sizeof(Bf16);
    constexpr std::size_t kVectors = 16 / kRows;  // hide the latency of adding on four pipes
    static_assert(kVectors * kVector % kLine == 0);
    const auto* x = reinterpret_cast<const std::uint16_t*>(prepared);
    float32x4_t sums[kRows][kVectors];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(16)
      for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] = vdupq_n_f32(0);
    }
    std::size_t k = 0;
    for (; k + kVectors * kColumns <= columns; k += kVectors * kColumns) {
      HEADROOM_UNROLL(16)
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = k + v * kColumns;
        const uint16x8_t part = vld1q_u16(x + at);
        HEADROOM_UNROLL(4)
        for (int i = 0; i < kRows; ++i) {
          const Bf16* from = rows[i] + at;
          if (v * kVector % kLine == 0) prefetch<kAhead>(reinterpret_cast<const std::byte*>(from) + ahead);
          add_products(sums[i][v], vld1q_u16(reinterpret_cast<const std::uint16_t*>(from)), part);
        }
      }
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(16)
      for (std::size_t v = 1; v < kVectors; ++v) sums[i][0] = vaddq_f32(sums[i][0], sums[i][v]);
      y[i] = vaddvq_f32(sums[i][0]);
      for (std::size_t at = k; at < columns; ++at) {
        y[i] += to_float(rows[i][at]) * to_float(Bf16{x[at]});
      }
    }
  }
};

void multiply_bf16(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   GemvWalk walk, float* y) {
  multiply<Bf16Kernel>(weights, rows, columns, prepared, walk, y);
}

}  // namespace

GemvKernel gemv_neon_dot() {
  return {prepare_planes, multiply_planes, exact_kernel().round, "NEON, sdot, x in 16 bits",
          kFourStreams,   "int8"};
}

GemvKernel gemv_neon_bf16() {
  return {prepare_bf16, multiply_bf16, exact_kernel().round, "NEON, bfdot", kFourStreams};
}

}  // namespace headroom::native
#endif
