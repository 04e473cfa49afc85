// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

/// As gemv_avx512_vnni.cpp, in 32 bytes: 32 of hi, 32 of lo per 32 columns. Subtracts 128 times each plane's
/// sum at the end.
namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx2,fma")

constexpr std::size_t kLine = 64;
constexpr std::size_t kVector = 32;
constexpr float kLargest = 127.0F * 257;
/// A lane's sum of products of at most 255 * 128 stays below 2^31.
constexpr std::size_t kMostColumns = std::size_t{1} << 18;

struct Header {
  FixedHeader fixed;
  std::int32_t high, low;  ///< sums of the planes over whole vectors
};

const GemvKernel& exact_kernel() {
  static const GemvKernel kernel = portable_gemv_kernel("int8", Isa::kAvx2);
  return kernel;
}

/// Assembly: compiler options would choose the intrinsic's encoding (AVX-VNNI or AVX512-VNNI).
template <bool kVex>
[[gnu::always_inline]] inline void add_products(__m256i& sum, __m256i a, __m256i b) {
  if constexpr (kVex) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  } else {
    asm("%{evex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
}

[[gnu::always_inline]] inline std::int32_t sum_of(__m256i lanes) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

[[gnu::always_inline]] inline __m256i fixed(const Bf16* x, __m256 scale) {
  const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  const __m256 scaled = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(words, 16)), scale);
  // Rounding the scale may push the largest x out of range.
  const __m256 most = _mm256_set1_ps(kLargest), least = _mm256_set1_ps(-kLargest);
  return _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(scaled, most), least));
}

[[gnu::always_inline]] inline __m256i fixed16(const Bf16* x, __m256 scale) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(fixed(x, scale), fixed(x + 8, scale)), 0xd8);
}

void prepare(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, kLargest, kMostColumns, prepared);
  if (!point.fits) return exact_kernel().prepare(x, columns, prepared + kLine);
  const __m256 scales = _mm256_set1_ps(point.scale);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i high_sum = _mm256_setzero_si256(), low_sum = high_sum;
  std::byte* planes = prepared + kLine;
  for (std::size_t k = 0; k < columns; k += kVector, planes += 2 * kVector) {
    const Bf16* from = x + k;
    Bf16 last[kVector] = {};
    const bool is_whole = columns - k >= kVector;
    if (!is_whole) {
      std::memcpy(last, from, (columns - k) * sizeof(Bf16));
      from = last;
    }
    const __m256i q0 = fixed16(from, scales), q1 = fixed16(from + 16, scales), half = _mm256_set1_epi16(128);
    const __m256i high0 = _mm256_srai_epi16(_mm256_add_epi16(q0, half), 8);
    const __m256i high1 = _mm256_srai_epi16(_mm256_add_epi16(q1, half), 8);
    const __m256i low0 = _mm256_sub_epi16(q0, _mm256_slli_epi16(high0, 8));
    const __m256i low1 = _mm256_sub_epi16(q1, _mm256_slli_epi16(high1, 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes),
                        _mm256_permute4x64_epi64(_mm256_packs_epi16(high0, high1), 0xd8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes + kVector),
                        _mm256_permute4x64_epi64(_mm256_packs_epi16(low0, low1), 0xd8));
    if (is_whole) {
      high_sum = _mm256_add_epi32(high_sum, _mm256_madd_epi16(_mm256_add_epi16(high0, high1), ones));
      low_sum = _mm256_add_epi32(low_sum, _mm256_madd_epi16(_mm256_add_epi16(low0, low1), ones));
    }
  }
  const Header header{header_of(prepared), sum_of(high_sum), sum_of(low_sum)};
  std::memcpy(prepared, &header, sizeof header);
}

#include "headroom_native/kernels/gemv/gemv_walks.h"

template <bool kVex>
struct PlanesKernel {
  using Weight = std::int8_t;

  /// `prepared` points to the header.
  template <int kRows, PrefetchHint kAhead>
  [[gnu::always_inline]] static void dot(const std::int8_t* const* rows, std::size_t columns,
                                         const std::byte* prepared, std::size_t ahead, float* y) {
    Header header;
    std::memcpy(&header, prepared, sizeof header);
    const auto* planes = reinterpret_cast<const std::int8_t*>(prepared + kLine);
    constexpr std::size_t kSums = kRows == 1 ? 4 : 4 / kRows;  // per row and plane, to hide latency
    const __m256i offset = _mm256_set1_epi8(static_cast<char>(0x80));
    __m256i high[kRows][kSums], low[kRows][kSums];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (std::size_t u = 0; u < kSums; ++u) high[i][u] = low[i][u] = _mm256_setzero_si256();
    }
    constexpr std::size_t kVectors = kSums < 2 ? 2 : kSums;
    const auto step = [&](std::size_t at, std::size_t u) __attribute__((always_inline, target("avx2,fma"))) {
      const auto* x = reinterpret_cast<const __m256i*>(planes + 2 * at);
      const __m256i x_high = _mm256_loadu_si256(x), x_low = _mm256_loadu_si256(x + 1);
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) {
        const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[i] + at));
        const __m256i shifted = _mm256_xor_si256(weights, offset);  // w + 128
        add_products<kVex>(high[i][u], shifted, x_high);
        add_products<kVex>(low[i][u], shifted, x_low);
      }
    };
    std::size_t k = 0;
    for (; k + kVectors * kVector <= columns; k += kVectors * kVector) {
      HEADROOM_UNROLL(4)
      for (std::size_t v = 0; v < kVectors; ++v) {
        if (v * kVector % kLine == 0) {
          HEADROOM_UNROLL(4)
          for (int i = 0; i < kRows; ++i) prefetch<kAhead>(rows[i] + k + v * kVector + ahead);
        }
        step(k + v * kVector, v % kSums);
      }
    }
    for (; k + kVector <= columns; k += kVector) step(k, 0);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(4)
      for (std::size_t u = 1; u < kSums; ++u) {
        high[i][0] = _mm256_add_epi32(high[i][0], high[i][u]);
        low[i][0] = _mm256_add_epi32(low[i][0], low[i][u]);
      }
      std::int64_t highs = sum_of(high[i][0]) - std::int64_t{128} * header.high;
      std::int64_t lows = sum_of(low[i][0]) - std::int64_t{128} * header.low;
      for (std::size_t at = k; at < columns; ++at) {
        const std::int8_t* x = planes + at / kVector * 2 * kVector + at % kVector;
        highs += std::int64_t{rows[i][at]} * x[0];
        lows += std::int64_t{rows[i][at]} * x[kVector];
      }
      y[i] = static_cast<float>(256 * highs + lows) * header.fixed.step;
    }
  }
};

template <bool kVex>
void multiply_planes(const std::byte* weights, std::size_t rows, std::size_t columns,
                     const std::byte* prepared, GemvWalk walk, float* y) {
  if (!header_of(prepared).is_fixed)
    return exact_kernel().multiply(weights, rows, columns, prepared + kLine, walk, y);
  multiply<PlanesKernel<kVex>>(weights, rows, columns, prepared, walk, y);
}

HEADROOM_END_TARGET

}  // namespace

GemvKernel gemv_avx_vnni() {
  const auto multiply = has_vex_vnni() ? multiply_planes<true> : multiply_planes<false>;
  return {prepare, multiply, exact_kernel().round, "avx_vnni, x in 16 bits", kFourStreams, "int8"};
}

}  // namespace headroom::native
#endif
