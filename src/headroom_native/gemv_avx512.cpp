// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gemv_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#endif

namespace headroom::native {

#if defined(__x86_64__)
namespace {

#pragma GCC diagnostic push
// GCC 12 warns of the value that its own headers leave undefined on purpose (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")

constexpr std::size_t kAhead = 6144;  // bytes; see read_kernels.cpp
constexpr std::size_t kColumns = 32;  // bf16 of one register

void prepare_bf16(const Bf16* x, std::size_t columns, std::byte* prepared) {
  std::memcpy(prepared, x, columns * sizeof(Bf16));
}

[[gnu::always_inline]] inline __m512bh load(const Bf16* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
/// The first `count` < 32 values, zeros behind them.
[[gnu::always_inline]] inline __m512bh load_first(const Bf16* from, std::size_t count) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16((std::uint32_t{1} << count) - 1, from));
}

template <bool kPrefetch>
[[gnu::always_inline]] inline float dot(const Bf16* row, std::size_t columns, const Bf16* x) {
  __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
  std::size_t k = 0;
  for (; k + 4 * kColumns <= columns; k += 4 * kColumns) {
    if (kPrefetch) {
      const auto* ahead = reinterpret_cast<const char*>(row + k) + kAhead;
      _mm_prefetch(ahead, _MM_HINT_T0);
      _mm_prefetch(ahead + 64, _MM_HINT_T0);
      _mm_prefetch(ahead + 128, _MM_HINT_T0);
      _mm_prefetch(ahead + 192, _MM_HINT_T0);
    }
    s0 = _mm512_dpbf16_ps(s0, load(row + k), load(x + k));
    s1 = _mm512_dpbf16_ps(s1, load(row + k + kColumns), load(x + k + kColumns));
    s2 = _mm512_dpbf16_ps(s2, load(row + k + 2 * kColumns), load(x + k + 2 * kColumns));
    s3 = _mm512_dpbf16_ps(s3, load(row + k + 3 * kColumns), load(x + k + 3 * kColumns));
  }
  for (; k + kColumns <= columns; k += kColumns) s0 = _mm512_dpbf16_ps(s0, load(row + k), load(x + k));
  if (k < columns)
    s1 = _mm512_dpbf16_ps(s1, load_first(row + k, columns - k), load_first(x + k, columns - k));
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)));
}

[[gnu::always_inline]] inline void dot4(const Bf16* row, std::size_t columns, const Bf16* x, float* y) {
  __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
  const auto add = [&](std::size_t k, __m512bh part, auto&& of) {
    s0 = _mm512_dpbf16_ps(s0, of(row + k), part);
    s1 = _mm512_dpbf16_ps(s1, of(row + columns + k), part);
    s2 = _mm512_dpbf16_ps(s2, of(row + 2 * columns + k), part);
    s3 = _mm512_dpbf16_ps(s3, of(row + 3 * columns + k), part);
  };
  std::size_t k = 0;
  for (; k + kColumns <= columns; k += kColumns) add(k, load(x + k), load);
  if (const std::size_t left = columns - k; left > 0) {
    add(k, load_first(x + k, left), [&](const Bf16* from) { return load_first(from, left); });
  }
  y[0] = _mm512_reduce_add_ps(s0);
  y[1] = _mm512_reduce_add_ps(s1);
  y[2] = _mm512_reduce_add_ps(s2);
  y[3] = _mm512_reduce_add_ps(s3);
}

void multiply_bf16(const std::byte* weights, std::size_t rows, std::size_t columns, const std::byte* prepared,
                   Reach reach, float* y) {
  const auto* first = reinterpret_cast<const Bf16*>(weights);
  const auto* x = reinterpret_cast<const Bf16*>(prepared);
  std::size_t row = 0;
  if (reach == Reach::kFar) {
    for (; row < rows; ++row) y[row] = dot<true>(first + row * columns, columns, x);
    return;
  }
  for (; row + 4 <= rows; row += 4) dot4(first + row * columns, columns, x, y + row);
  for (; row < rows; ++row) y[row] = dot<false>(first + row * columns, columns, x);
}

#pragma GCC pop_options
#pragma GCC diagnostic pop

}  // namespace

std::optional<GemvKernel> gemv_avx512_kernel(std::string_view dtype, Isa isa) {
  if (dtype == "bf16" && isa >= Isa::kAvx512Bf16)
    return GemvKernel{prepare_bf16, multiply_bf16, "avx512_bf16"};
  return std::nullopt;
}

#else

std::optional<GemvKernel> gemv_avx512_kernel(std::string_view, Isa) {
  return std::nullopt;
}

#endif

}  // namespace headroom::native
