// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstdint>

#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

/// x as fixed point q of 16 (24) bits, in planes of signed bytes: q = 256 hi + lo (65536 hi + 256 mid + lo).
/// vpdpbusd multiplies unsigned by signed bytes, so weights become w + 128, and sums start at -128 times the
/// plane's sum. Only the rounding of x is inexact.
namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")

constexpr std::size_t kLine = 64;
/// A row's sum of |w| <= 128 times bytes of |.| <= 128 stays below 2^31.
constexpr std::size_t kMostColumns = std::size_t{1} << 16;

/// Bytes of the initial sums, a line per plane. The planes follow, a line each per 64 columns.
template <int kPlanes>
constexpr std::size_t kStartBytes = kPlanes* kLine;

/// Largest |q| whose bytes are all at most 127.
template <int kPlanes>
constexpr float kLargest = kPlanes == 2 ? 127.0F * 257 : 127.0F * 65793;

const GemvKernel& exact_kernel() {
  static const GemvKernel kernel = portable_gemv_kernel("int8", Isa::kAvx512);
  return kernel;
}

[[gnu::always_inline]] inline __m512 load_floats(const Bf16* x, __mmask16 which) {
  const __m256i halves = _mm256_maskz_loadu_epi16(which, x);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/// Highest plane first.
template <int kPlanes>
[[gnu::always_inline]] inline void store_planes(__m512i q, std::byte* to) {
  for (int plane = kPlanes - 1; plane > 0; --plane) {
    const __m512i rest = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
    const __m512i byte = _mm512_sub_epi32(q, _mm512_slli_epi32(rest, 8));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + static_cast<std::size_t>(plane) * kLine),
                    _mm512_cvtepi32_epi8(byte));
    q = rest;
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(q));
}

template <int kPlanes>
void store_starts(std::byte* start, std::size_t columns) {
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::byte* planes = start + kStartBytes<kPlanes>;
  for (int plane = 0; plane < kPlanes; ++plane) {
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t k = 0; k < columns; k += kLine) {
      sum = _mm512_dpbusd_epi32(
          sum, offset, _mm512_load_si512(planes + k * kPlanes + static_cast<std::size_t>(plane) * kLine));
    }
    _mm512_store_si512(start + static_cast<std::size_t>(plane) * kLine,
                       _mm512_sub_epi32(_mm512_setzero_si512(), sum));
  }
}

template <int kPlanes>
void prepare(const Bf16* x, std::size_t columns, std::byte* prepared) {
  const FixedPoint point = fixed_point(x, columns, kLargest<kPlanes>, kMostColumns, prepared);
  if (!point.fits) return exact_kernel().prepare(x, columns, prepared + kLine);
  std::byte* planes = prepared + kLine + kStartBytes<kPlanes>;
  const __m512 scales = _mm512_set1_ps(point.scale), most = _mm512_set1_ps(kLargest<kPlanes>);
  for (std::size_t k = 0; k < (columns + kLine - 1) / kLine * kLine; k += 16) {
    const std::size_t left = k < columns ? std::min<std::size_t>(columns - k, 16) : 0;
    const auto which = static_cast<__mmask16>(avx512::first_bytes(left));
    // Rounding the scale may push the largest x out of range.
    const __m512 scaled = _mm512_min_ps(_mm512_mul_ps(load_floats(x + k, which), scales), most);
    store_planes<kPlanes>(_mm512_cvtps_epi32(scaled), planes + k / kLine * kLine * kPlanes + k % kLine);
  }
  store_starts<kPlanes>(prepared + kLine, columns);
}

/// Assembly: for the intrinsic GCC 12 copies each sum to another register and back.
[[gnu::always_inline]] inline void add_products(__m512i& sum, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

template <int kPlanes>
struct RowSums {
  __m512i of[kPlanes];
};

/// Eight or more sums hide the latency.
template <int kPlanes, int kRows, PrefetchHint kAhead>
[[gnu::always_inline]] inline void dot(const std::byte* const* rows, std::size_t columns,
                                       const std::byte* start, std::size_t ahead, RowSums<kPlanes>* sums) {
  constexpr int kUnroll = 8 / kRows;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::byte* planes = start + kStartBytes<kPlanes>;
  __m512i parts[kRows][kUnroll][kPlanes];
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    HEADROOM_UNROLL(8)
    for (int u = 0; u < kUnroll; ++u) {
      HEADROOM_UNROLL(3)
      for (int plane = 0; plane < kPlanes; ++plane) {
        parts[i][u][plane] = u == 0 ? _mm512_load_si512(start + static_cast<std::size_t>(plane) * kLine)
                                    : _mm512_setzero_si512();
      }
    }
  }
  std::size_t k = 0;
  for (; k + kUnroll * kLine <= columns; k += kUnroll * kLine) {
    HEADROOM_UNROLL(8)
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t at = k + static_cast<std::size_t>(u) * kLine;
      __m512i x[kPlanes];
      HEADROOM_UNROLL(3)
      for (int plane = 0; plane < kPlanes; ++plane) {
        x[plane] = _mm512_load_si512(planes + at * kPlanes + static_cast<std::size_t>(plane) * kLine);
      }
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) {
        prefetch<kAhead>(rows[i] + at + ahead);
        const __m512i shifted = _mm512_xor_si512(_mm512_loadu_si512(rows[i] + at), offset);  // w + 128
        HEADROOM_UNROLL(3)
        for (int plane = 0; plane < kPlanes; ++plane) add_products(parts[i][u][plane], shifted, x[plane]);
      }
    }
  }
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    HEADROOM_UNROLL(3)
    for (int plane = 0; plane < kPlanes; ++plane) {
      HEADROOM_UNROLL(8)
      for (int u = 1; u < kUnroll; ++u) {
        parts[i][0][plane] = _mm512_add_epi32(parts[i][0][plane], parts[i][u][plane]);
      }
    }
  }
  for (; k < columns; k += kLine) {
    const __mmask64 which = avx512::first_bytes(columns - k);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      const __m512i shifted = _mm512_xor_si512(_mm512_maskz_loadu_epi8(which, rows[i] + k), offset);
      HEADROOM_UNROLL(3)
      for (int plane = 0; plane < kPlanes; ++plane) {
        add_products(parts[i][0][plane], shifted,
                     _mm512_load_si512(planes + k * kPlanes + static_cast<std::size_t>(plane) * kLine));
      }
    }
  }
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    HEADROOM_UNROLL(3)
    for (int plane = 0; plane < kPlanes; ++plane) sums[i].of[plane] = parts[i][0][plane];
  }
}

/// Returns 256 hi + lo (65536 hi + 256 mid + lo), times the step of x.
template <int kPlanes>
[[gnu::always_inline]] inline __m128 results(const RowSums<kPlanes>* sums, __m256d step) {
  __m256d total = _mm256_setzero_pd();
  HEADROOM_UNROLL(3)
  for (int plane = 0; plane < kPlanes; ++plane) {
    const __m128i part =
        avx512::sums_of(sums[0].of[plane], sums[1].of[plane], sums[2].of[plane], sums[3].of[plane]);
    total = _mm256_fmadd_pd(total, _mm256_set1_pd(256), _mm256_cvtepi32_pd(part));
  }
  return _mm256_cvtpd_ps(_mm256_mul_pd(total, step));
}

template <int kPlanes, int kRows, PrefetchHint kAhead>
void multiply_as(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* start,
                 float step, GemvWalk walk, float* y) {
  const __m256d steps = _mm256_set1_pd(static_cast<double>(step));
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    const std::byte* lines[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) lines[i] = weights + four.row[i] * columns;
    RowSums<kPlanes> sums[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; i += kRows) {
      dot<kPlanes, kRows, kAhead>(lines + i, columns, start, walk.ahead, sums + i);
    }
    four.store(results<kPlanes>(sums, steps), y);
  }
}

/// Walks of tuning.cpp; others take the nearest. The strict form has only some.
template <int kPlanes, int kRows>
void multiply_rows(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* start,
                   float step, GemvWalk walk, float* y) {
  constexpr bool kStrict = kPlanes == 3;
  if (walk.ahead == 0) {
    return multiply_as<kPlanes, kRows, PrefetchHint::kNone>(weights, rows, columns, start, step, walk, y);
  }
  if constexpr (!kStrict) {
    if (kRows == 1 && walk.into == PrefetchLevel::kFirstCache) {
      return multiply_as<kPlanes, 1, PrefetchHint::kNontemporal>(weights, rows, columns, start, step, walk,
                                                                 y);
    }
    if (walk.into != PrefetchLevel::kLargerCaches) {
      return multiply_as<kPlanes, kRows, PrefetchHint::kAllCaches>(weights, rows, columns, start, step, walk,
                                                                   y);
    }
  }
  multiply_as<kPlanes, kRows, PrefetchHint::kLargerCaches>(weights, rows, columns, start, step, walk, y);
}

template <int kPlanes>
void multiply(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
              GemvWalk walk, float* y) {
  const FixedHeader header = header_of(prepared);
  const std::byte* start = prepared + kLine;
  walk = effective_walk(walk);
  if (!header.is_fixed) return exact_kernel().multiply(weights, rows, columns, start, walk, y);
  if constexpr (kPlanes == 2) {
    if (walk.rows < 2) return multiply_rows<2, 1>(weights, rows, columns, start, header.step, walk, y);
    if (walk.rows < 4) return multiply_rows<2, 2>(weights, rows, columns, start, header.step, walk, y);
  }
  multiply_rows<kPlanes, 4>(weights, rows, columns, start, header.step, walk, y);
}

HEADROOM_END_TARGET

}  // namespace

GemvKernel gemv_avx512_vnni(bool strict) {
  const auto round = exact_kernel().round;
  if (strict) return {prepare<3>, multiply<3>, round, "avx512_vnni, x in 24 bits", kFourStreams, "int8"};
  return {prepare<2>, multiply<2>, round, "avx512_vnni, x in 16 bits", kFourStreams, "int8"};
}

}  // namespace headroom::native
#endif
