// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/norm_avx512.h"

#if defined(__x86_64__)
#include <cmath>
#include <cstdint>

#include "headroom_native/avx512_sums.h"

/// Sums and sums of squares by one pass of vpdpbf16ps, two instructions for 32 columns; then several rows at
/// once, so that gamma and beta are read once for all of them. A row whose variance is small beside its mean
/// would lose it to rounding: it takes the portable kernel, which centres first.
namespace headroom::native {
namespace {

#pragma GCC diagnostic push
// GCC 12 warns of the value that its own headers leave undefined on purpose (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512bf16")

constexpr std::size_t kColumns = 32;  // bf16 of one register
constexpr std::size_t kLine = 64;

const NormKernel& centring_kernel() {
  static const NormKernel kernel = portable_norm_kernel(Isa::kAvx512);
  return kernel;
}

[[gnu::always_inline]] inline __mmask32 first_columns(std::size_t count) {
  return static_cast<__mmask32>(avx512::first_bytes(count < kColumns ? count : kColumns));
}

/// y = x * scale + shift before gamma and beta.
struct Moments {
  float scale;  ///< 1 / sqrt(variance + epsilon)
  float shift;  ///< -mean * scale
  bool trusted;
};

template <bool kAhead>
[[gnu::always_inline]] inline Moments moments_of(const Bf16* row, std::size_t columns, std::size_t ahead) {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 sums[4], squares[4];
#pragma GCC unroll 4
  for (int u = 0; u < 4; ++u) sums[u] = squares[u] = _mm512_setzero_ps();
  const auto add = [&](int u, __m512i line) {
    const auto x = reinterpret_cast<__m512bh>(line);
    sums[u] = _mm512_dpbf16_ps(sums[u], x, ones);
    squares[u] = _mm512_dpbf16_ps(squares[u], x, x);
  };
  std::size_t k = 0;
  for (; k + 4 * kColumns <= columns; k += 4 * kColumns) {
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      const Bf16* from = row + k + static_cast<std::size_t>(u) * kColumns;
      if constexpr (kAhead) {
        avx512::prefetch<avx512::Ahead::kAllCaches>(reinterpret_cast<const std::byte*>(from) + ahead);
      }
      add(u, _mm512_loadu_si512(from));
    }
  }
  for (; k < columns; k += kColumns) {
    add(0, _mm512_maskz_loadu_epi16(first_columns(columns - k), row + k));
  }
  const __m128 both =
      avx512::sums_of(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]),
                      _mm512_add_ps(squares[0], squares[1]), _mm512_add_ps(squares[2], squares[3]));
  const auto count = static_cast<float>(columns);
  const float mean = (both[0] + both[1]) / count;
  const float variance = (both[2] + both[3]) / count - mean * mean;
  const float scale = 1.0F / std::sqrt(variance + kNormEpsilon);
  // Rounding leaves some 1e-6 of the mean square: of the variance at most some 1e-4 of what bf16 resolves.
  const bool trusted = mean * mean <= 64 * variance && variance > 1e-30F && variance < 1e30F;
  return {scale, -mean * scale, trusted};
}

struct Parameters {
  const float* gamma_even;
  const float* gamma_odd;
  const float* beta_even;
  const float* beta_odd;

  Parameters(const float* prepared, std::size_t columns)
      : gamma_even(prepared),
        gamma_odd(prepared + norm_part_floats(columns)),
        beta_even(prepared + 2 * norm_part_floats(columns)),
        beta_odd(prepared + 3 * norm_part_floats(columns)) {}
};

/// Neighbouring columns back beside each other: what vcvtne2ps2bf16 gives of odd and even columns is the even
/// ones, then the odd ones.
[[gnu::always_inline]] inline __m512i interleaving() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                          20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
}

template <int kRows, bool kStream, bool kNextBlock>
[[gnu::always_inline]] inline void normalise(const Bf16* x, std::size_t columns, const Moments* moments,
                                             const Parameters& with, Bf16* y) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U)), order = interleaving();
  __m512 scale[kRows], shift[kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    scale[i] = _mm512_set1_ps(moments[i].scale);
    shift[i] = _mm512_set1_ps(moments[i].shift);
  }
  // The parameters of 32 columns, loaded once for all rows: no store may come in between, it could change
  // them.
  __m512 gamma_even, gamma_odd, beta_even, beta_odd;
  const auto load_parameters = [&](std::size_t half) {
    gamma_even = _mm512_loadu_ps(with.gamma_even + half);
    gamma_odd = _mm512_loadu_ps(with.gamma_odd + half);
    beta_even = _mm512_loadu_ps(with.beta_even + half);
    beta_odd = _mm512_loadu_ps(with.beta_odd + half);
  };
  const auto result = [&](int i, __m512i words) {
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    const __m512 odd = _mm512_castsi512_ps(_mm512_and_si512(words, upper));
    const __m512 even_y = _mm512_fmadd_ps(_mm512_fmadd_ps(even, scale[i], shift[i]), gamma_even, beta_even);
    const __m512 odd_y = _mm512_fmadd_ps(_mm512_fmadd_ps(odd, scale[i], shift[i]), gamma_odd, beta_odd);
    return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd_y, even_y)));
  };
  std::size_t k = 0;
  for (; k + kColumns <= columns; k += kColumns) {
    load_parameters(k / 2);
    __m512i lines[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * columns + k;
      if constexpr (kNextBlock) {
        avx512::prefetch<avx512::Ahead::kAllCaches>(x + at + static_cast<std::size_t>(kRows) * columns);
      }
      lines[i] = result(i, _mm512_loadu_si512(x + at));
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * columns + k;
      if constexpr (kStream) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(y + at), lines[i]);
      } else {
        _mm512_storeu_si512(y + at, lines[i]);
      }
    }
  }
  if (k == columns) return;
  const __mmask32 which = first_columns(columns - k);
  load_parameters(k / 2);
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * columns + k;
    _mm512_mask_storeu_epi16(y + at, which, result(i, _mm512_maskz_loadu_epi16(which, x + at)));
  }
}

template <int kRows, bool kStream>
[[gnu::always_inline]] inline void block(const Bf16* x, std::size_t columns, const float* prepared,
                                         NormWalk walk, Bf16* y) {
  Moments moments[kRows];
  bool trusted = true;
  for (int i = 0; i < kRows; ++i) {
    const Bf16* row = x + static_cast<std::size_t>(i) * columns;
    moments[i] =
        walk.ahead > 0 ? moments_of<true>(row, columns, walk.ahead) : moments_of<false>(row, columns, 0);
    trusted = trusted && moments[i].trusted;
  }
  if (!trusted) return centring_kernel().rows(x, kRows, columns, prepared, walk, y);
  const Parameters with(prepared, columns);
  if (walk.next_block) {
    normalise<kRows, kStream, true>(x, columns, moments, with, y);
  } else {
    normalise<kRows, kStream, false>(x, columns, moments, with, y);
  }
}

template <int kRows, bool kStream>
void blocks(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
            Bf16* y) {
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    block<kRows, kStream>(x + row * columns, columns, prepared, walk, y + row * columns);
  }
  for (; row < rows; ++row) block<1, kStream>(x + row * columns, columns, prepared, walk, y + row * columns);
  if (kStream) _mm_sfence();
}

template <int kRows>
void stored_blocks(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
                   Bf16* y) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % kLine == 0 && columns * sizeof(Bf16) % kLine == 0;
  if (walk.stores == Stores::kAroundCaches && aligned) {
    blocks<kRows, true>(x, rows, columns, prepared, walk, y);
  } else {
    blocks<kRows, false>(x, rows, columns, prepared, walk, y);
  }
}

void rows_of(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
             Bf16* y) {
  if (walk.rows >= 4) return stored_blocks<4>(x, rows, columns, prepared, walk, y);
  if (walk.rows >= 2) return stored_blocks<2>(x, rows, columns, prepared, walk, y);
  stored_blocks<1>(x, rows, columns, prepared, walk, y);
}

/// Even and odd columns of `from` apart.
void split_columns(const float* from, std::size_t columns, float* even, float* odd) {
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odds = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  std::size_t k = 0;
  for (; k + 32 <= columns; k += 32) {
    const __m512 low = _mm512_loadu_ps(from + k), high = _mm512_loadu_ps(from + k + 16);
    _mm512_storeu_ps(even + k / 2, _mm512_permutex2var_ps(low, evens, high));
    _mm512_storeu_ps(odd + k / 2, _mm512_permutex2var_ps(low, odds, high));
  }
  for (; k < columns; ++k) (k % 2 == 0 ? even : odd)[k / 2] = from[k];
}

void prepare(const float* gamma, const float* beta, std::size_t columns, float* prepared) {
  const std::size_t part = norm_part_floats(columns);
  split_columns(gamma, columns, prepared, prepared + part);
  split_columns(beta, columns, prepared + 2 * part, prepared + 3 * part);
}

#pragma GCC pop_options
#pragma GCC diagnostic pop

}  // namespace

NormKernel norm_avx512_bf16() {
  return {prepare, rows_of, centring_kernel().vector, "avx512_bf16"};
}

}  // namespace headroom::native
#endif
