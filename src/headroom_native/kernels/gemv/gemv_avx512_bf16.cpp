// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemv/gemv_kernel.h"

#if defined(__x86_64__)
#include <cstring>

#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"
#include "headroom_native/kernels/weight_rows.h"

namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512bf16")

constexpr std::size_t kColumns = 32;  // bf16 of one register

void prepare(const Bf16* x, std::size_t columns, std::byte* prepared) {
  std::memcpy(prepared, x, columns * sizeof(Bf16));
}

[[gnu::always_inline]] inline __m512bh load(const Bf16* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
/// Loads `count` < 32 values; the rest is zero.
[[gnu::always_inline]] inline __m512bh load_first(const Bf16* from, std::size_t count) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16((std::uint32_t{1} << count) - 1, from));
}

/// Sixteen hide the latency of two products per cycle with weights in L2; eight suffice beyond.
template <int kRows, PrefetchHint kAhead>
[[gnu::always_inline]] inline void dot(const Bf16* const* rows, std::size_t columns, const Bf16* x,
                                       std::size_t ahead, __m512* sums) {
  constexpr int kUnroll = kRows == 1 ? 8 : 16 / kRows;
  __m512 parts[kRows][kUnroll];
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    HEADROOM_UNROLL(8)
    for (int u = 0; u < kUnroll; ++u) parts[i][u] = _mm512_setzero_ps();
  }
  std::size_t k = 0;
  for (; k + kUnroll * kColumns <= columns; k += kUnroll * kColumns) {
    HEADROOM_UNROLL(8)
    for (int u = 0; u < kUnroll; ++u) {
      const std::size_t at = k + static_cast<std::size_t>(u) * kColumns;
      const __m512bh part = load(x + at);
      HEADROOM_UNROLL(4)
      for (int i = 0; i < kRows; ++i) {
        const Bf16* from = rows[i] + at;
        prefetch<kAhead>(reinterpret_cast<const std::byte*>(from) + ahead);
        parts[i][u] = _mm512_dpbf16_ps(parts[i][u], load(from), part);
      }
    }
  }
  // Reduced here, so that few registers stay live.
  HEADROOM_UNROLL(4)
  for (int stride = kUnroll / 2; stride > 0; stride /= 2) {
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      HEADROOM_UNROLL(8)
      for (int u = 0; u < stride; ++u) parts[i][u] = _mm512_add_ps(parts[i][u], parts[i][u + stride]);
    }
  }
  for (; k + kColumns <= columns; k += kColumns) {
    const __m512bh part = load(x + k);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      parts[i][0] = _mm512_dpbf16_ps(parts[i][0], load(rows[i] + k), part);
    }
  }
  if (const std::size_t left = columns - k; left > 0) {
    const __m512bh part = load_first(x + k, left);
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      parts[i][0] = _mm512_dpbf16_ps(parts[i][0], load_first(rows[i] + k, left), part);
    }
  }
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) sums[i] = parts[i][0];
}

template <int kRows, PrefetchHint kAhead>
void multiply_as(const Bf16* weights, std::size_t rows, std::size_t columns, const Bf16* x, GemvWalk walk,
                 float* y) {
  const RowGroups groups(rows, walk.apart);
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const FourRows four = groups.at(group);
    const Bf16* lines[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; ++i) lines[i] = weights + four.row[i] * columns;
    __m512 sums[4];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < 4; i += kRows) dot<kRows, kAhead>(lines + i, columns, x, walk.ahead, sums + i);
    four.store(avx512::sums_of(sums[0], sums[1], sums[2], sums[3]), y);
  }
}

/// Walks of tuning.cpp; others take the nearest.
template <int kRows>
void multiply_rows(const Bf16* weights, std::size_t rows, std::size_t columns, const Bf16* x, GemvWalk walk,
                   float* y) {
  if (walk.ahead == 0) {
    multiply_as<kRows, PrefetchHint::kNone>(weights, rows, columns, x, walk, y);
  } else if (kRows == 1 && walk.into == PrefetchLevel::kFirstCache) {
    multiply_as<1, PrefetchHint::kNontemporal>(weights, rows, columns, x, walk, y);
  } else if (walk.into == PrefetchLevel::kLargerCaches) {
    multiply_as<kRows, PrefetchHint::kLargerCaches>(weights, rows, columns, x, walk, y);
  } else {
    multiply_as<kRows, PrefetchHint::kAllCaches>(weights, rows, columns, x, walk, y);
  }
}

void multiply(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
              GemvWalk walk, float* y) {
  const auto* first = reinterpret_cast<const Bf16*>(weights);
  const auto* x = reinterpret_cast<const Bf16*>(prepared);
  walk = effective_walk(walk);
  if (walk.rows >= 4) return multiply_rows<4>(first, rows, columns, x, walk, y);
  if (walk.rows >= 2) return multiply_rows<2>(first, rows, columns, x, walk, y);
  multiply_rows<1>(first, rows, columns, x, walk, y);
}

void round(const float* x, std::size_t count, Bf16* y) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(x + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), reinterpret_cast<__m256i>(rounded));
  }
  for (; i < count; ++i) y[i] = to_bf16(x[i]);
}

HEADROOM_END_TARGET

}  // namespace

GemvKernel gemv_avx512_bf16() {
  return {prepare, multiply, round, "avx512_bf16", kFourStreams};
}

}  // namespace headroom::native
#endif
