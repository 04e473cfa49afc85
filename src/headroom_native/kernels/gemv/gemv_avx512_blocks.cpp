// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

/// x as 16-bit fixed point q. int8: products of 16 bits in pairs (vpdpwssd). 4 bits: unsigned bytes times
/// signed bytes of q = 256 hi + lo (vpdpbusd); the initial sums correct for the zero at 8. Exact within a
/// block.
namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma,f16c")

constexpr std::size_t kLine = 64;
constexpr std::size_t kFour = 4, kFourColumns = kFour * kBlockColumns, kFourBytes = kFour * kInt4BlockBytes;
/// Prepared x of four blocks: high bytes for the weights' low and high halves, low bytes for both, initial
/// sums.
constexpr std::size_t kGroupBytes = 5 * kLine;
constexpr float kLargest = 127.0F * 257;

FixedPoint prepare_header(const Bf16* x, std::size_t columns, const char* dtype, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, kLargest, columns, prepared);
  if (!point.fits) portable_gemv_blocks(dtype, Isa::kAvx512).prepare(x, columns, prepared + kLine);
  return point;
}

std::int16_t rounded(Bf16 x, const FixedPoint& point) {
  return static_cast<std::int16_t>(std::lrintf(to_float(x) * point.scale));
}

void prepare_int8(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = prepare_header(x, columns, "int8_g32", prepared);
  if (!point.fits) return;
  auto* q = reinterpret_cast<std::int16_t*>(prepared + kLine);
  for (std::size_t k = 0; k < columns; ++k) q[k] = rounded(x[k], point);
}

void prepare_int4(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = prepare_header(x, columns, "int4", prepared);
  if (!point.fits) return;
  std::byte* group = prepared + kLine;
  for (std::size_t first = 0; first < columns; first += kFourColumns, group += kGroupBytes) {
    std::memset(group, 0, kGroupBytes);
    std::array<std::int32_t, 16> starts{};
    for (std::size_t k = 0; k < std::min(kFourColumns, columns - first); ++k) {
      const int q = rounded(x[first + k], point);
      const int low = ((q + 128) & 255) - 128;
      const std::size_t half = k % kBlockColumns / 16, at = k / kBlockColumns * 16 + k % 16;
      group[half * kLine + at] = static_cast<std::byte>((q - low) / 256);
      group[(2 + half) * kLine + at] = static_cast<std::byte>(low);
      starts[at / 4] -= 8 * q;
    }
    std::memcpy(group + 4 * kLine, starts.data(), kLine);
  }
}

/// Gather the numbers of four blocks from two overlapping registers.
constexpr std::array<std::uint16_t, 32> numbers_of_four() {
  std::array<std::uint16_t, 32> which{};
  for (std::size_t i = 0; i < which.size(); ++i) {
    const std::size_t word = i / 8 * 9 + 1 + i % 8;
    which[i] = static_cast<std::uint16_t>(word < 32 ? word : 32 + word - 4);
  }
  return which;
}
/// Repeat each block's scale four times.
constexpr std::array<std::uint16_t, 32> scales_of_four() {
  std::array<std::uint16_t, 32> which{};
  for (std::size_t i = 0; i < 16; ++i) which[i] = static_cast<std::uint16_t>(i / 4 * 9);
  return which;
}
alignas(64) constexpr std::array<std::uint16_t, 32> kNumbers = numbers_of_four(), kScales = scales_of_four();

struct FourOfX {
  __m512i high[2], low[2], starts;
  [[gnu::always_inline]] explicit FourOfX(const std::byte* group)
      : high{_mm512_load_si512(group), _mm512_load_si512(group + kLine)},
        low{_mm512_load_si512(group + 2 * kLine), _mm512_load_si512(group + 3 * kLine)},
        starts(_mm512_load_si512(group + 4 * kLine)) {}
};

/// Sums of four lanes per block.
[[gnu::always_inline]] inline __m512 add_four(const std::byte* blocks, const FourOfX& x,
                                              __m512i which_numbers, __m512i which_scales, __m512 sums) {
  const __m512i first = _mm512_loadu_si512(blocks), second = _mm512_loadu_si512(blocks + kFourBytes - kLine);
  const __m512i numbers = _mm512_permutex2var_epi16(first, which_numbers, second);
  const __m512 scales =
      _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(which_scales, first)));
  const __m512i mask = _mm512_set1_epi8(15);
  const __m512i low = _mm512_and_si512(numbers, mask);
  const __m512i high = _mm512_and_si512(_mm512_srli_epi16(numbers, 4), mask);
  const __m512i upper =
      _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), low, x.high[0]), high, x.high[1]);
  const __m512i lower = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(x.starts, low, x.low[0]), high, x.low[1]);
  const __m512i all = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), lower);
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(all), scales, sums);
}

template <PrefetchHint kAhead>
[[gnu::always_inline]] inline void dot_int4(const std::byte* const* rows, std::size_t columns,
                                            const std::byte* x, std::size_t ahead, __m512* sums) {
  const __m512i which_numbers = _mm512_load_si512(kNumbers.data()),
                which_scales = _mm512_load_si512(kScales.data());
  HEADROOM_UNROLL(4)
  for (int i = 0; i < 4; ++i) sums[i] = _mm512_setzero_ps();
  std::size_t at = 0;
  for (std::size_t left = columns / kFourColumns; left > 0; --left, at += kFourBytes, x += kGroupBytes) {
    const FourOfX four(x);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      prefetch<kAhead>(rows[i] + at + ahead);
      sums[i] = add_four(rows[i] + at, four, which_numbers, which_scales, sums[i]);
    }
  }
  if (const std::size_t left = columns % kFourColumns / kBlockColumns; left > 0) {
    const FourOfX four(x);
    for (int i = 0; i < 4; ++i) {
      std::byte blocks[kFourBytes]{};
      std::memcpy(blocks, rows[i] + at, left * kInt4BlockBytes);
      sums[i] = add_four(blocks, four, which_numbers, which_scales, sums[i]);
    }
  }
}

template <PrefetchHint kAhead>
[[gnu::always_inline]] inline void dot_int8(const std::byte* const* rows, std::size_t columns,
                                            const std::byte* x, std::size_t ahead, __m512* sums) {
  HEADROOM_UNROLL(4)
  for (int i = 0; i < 4; ++i) sums[i] = _mm512_setzero_ps();
  std::size_t at = 0;
  for (std::size_t left = columns / kBlockColumns; left > 0; --left, at += kInt8BlockBytes, x += kLine) {
    const __m512i q = _mm512_load_si512(x);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const std::byte* const block = rows[i] + at;
      prefetch<kAhead>(block + ahead);
      std::int16_t half;
      std::memcpy(&half, block, sizeof half);
      const __m512 scale = _mm512_cvtph_ps(_mm256_set1_epi16(half));
      const __m512i weights =
          _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + kScaleBytes)));
      const __m512i products = _mm512_dpwssd_epi32(_mm512_setzero_si512(), weights, q);
      sums[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), scale, sums[i]);
    }
  }
}

template <bool kInt4, PrefetchHint kAhead>
void multiply_as(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                 float step, GemvWalk walk, float* y) {
  const std::size_t row_bytes = columns / kBlockColumns * (kInt4 ? kInt4BlockBytes : kInt8BlockBytes);
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    const std::byte* lines[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) lines[i] = weights + four.row[i] * row_bytes;
    __m512 sums[4];
    if constexpr (kInt4) {
      dot_int4<kAhead>(lines, columns, prepared, walk.ahead, sums);
    } else {
      dot_int8<kAhead>(lines, columns, prepared, walk.ahead, sums);
    }
    four.store(_mm_mul_ps(avx512::sums_of(sums[0], sums[1], sums[2], sums[3]), _mm_set1_ps(step)), y);
  }
}

template <bool kInt4>
void multiply(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
              GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  prepared += kLine;
  if (!header.is_fixed) {
    return portable_gemv_blocks(kInt4 ? "int4" : "int8_g32", Isa::kAvx512)
        .multiply(weights, rows, columns, prepared, walk, y);
  }
  if (walk.ahead == 0) {
    return multiply_as<kInt4, PrefetchHint::kNone>(weights, rows, columns, prepared, header.step, walk, y);
  }
  multiply_as<kInt4, PrefetchHint::kLargerCaches>(weights, rows, columns, prepared, header.step, walk, y);
}

HEADROOM_END_TARGET

}  // namespace

GemvKernel gemv_avx512_blocks(bool is_int4) {
  const auto round = portable_gemv_kernel("bf16", Isa::kAvx512).round;
  if (is_int4) return {prepare_int4, multiply<true>, round, "avx512_vnni", kFourStreams, "int8"};
  return {prepare_int8, multiply<false>, round, "avx512_vnni", kFourStreams, "int8"};
}

}  // namespace headroom::native
#endif
