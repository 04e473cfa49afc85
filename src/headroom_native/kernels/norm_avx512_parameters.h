// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/avx512_target.h"
#include "headroom_native/kernels/norm_kernel.h"

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma")

/// gamma and beta as the AVX-512 kernel of LayerNorm reads them, even columns apart from odd ones: as floats,
/// or as bf16 where every one of them is a bf16, which is half of the bytes that each block of rows reads
/// again.
namespace headroom::native::avx512 {

/// gamma and beta of 32 columns.
struct NormParameters {
  __m512 gamma_even, gamma_odd, beta_even, beta_odd;
};

[[gnu::always_inline]] inline __m512 even_columns(__m512i words) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}
[[gnu::always_inline]] inline __m512 odd_columns(__m512i words) {
  return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}

/// Four parts of floats, as prepared_norm_floats lays them out.
class FloatParameters {
 public:
  FloatParameters(const float* prepared, std::size_t columns)
      : prepared_(prepared), part_(norm_part_floats(columns)) {}

  [[gnu::always_inline]] NormParameters from(std::size_t column) const {
    const float* at = prepared_ + column / 2;
    return {_mm512_loadu_ps(at), _mm512_loadu_ps(at + part_), _mm512_loadu_ps(at + 2 * part_),
            _mm512_loadu_ps(at + 3 * part_)};
  }

 private:
  const float* prepared_;
  std::size_t part_;
};

/// gamma and beta of bf16, a part each behind the four of floats.
class Bf16Parameters {
 public:
  Bf16Parameters(const float* prepared, std::size_t columns)
      : gamma_(reinterpret_cast<const Bf16*>(prepared + 4 * norm_part_floats(columns))),
        beta_(gamma_ + 2 * norm_part_floats(columns)) {}

  [[gnu::always_inline]] NormParameters from(std::size_t column) const {
    const __m512i gamma = _mm512_loadu_si512(gamma_ + column), beta = _mm512_loadu_si512(beta_ + column);
    return {even_columns(gamma), odd_columns(gamma), even_columns(beta), odd_columns(beta)};
  }

 private:
  const Bf16* gamma_;
  const Bf16* beta_;
};

/// Even and odd columns of `from` apart.
inline void split_columns(const float* from, std::size_t columns, float* even, float* odd) {
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

/// Upper halves of the floats. Returns the bits of the lower ones, or'ed: 0 where nothing was lost.
inline std::uint32_t upper_halves(const float* from, std::size_t columns, Bf16* to) {
  __m512i lost = _mm512_setzero_si512();
  std::size_t k = 0;
  for (; k + 16 <= columns; k += 16) {
    const __m512i bits = _mm512_loadu_si512(from + k);
    lost = _mm512_or_si512(lost, bits);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + k),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
  }
  auto left = static_cast<std::uint32_t>(_mm512_reduce_or_epi32(lost));
  for (; k < columns; ++k) {
    const auto bits = std::bit_cast<std::uint32_t>(from[k]);
    left |= bits;
    to[k].bits = static_cast<std::uint16_t>(bits >> 16);
  }
  return left & 0xffff;
}

/// Whether Bf16Parameters holds what FloatParameters does.
inline bool are_bf16(const float* prepared, std::size_t columns) {
  return prepared[6 * norm_part_floats(columns)] != 0;
}

/// NormKernel::prepare for both forms.
inline void prepare_norm(const float* gamma, const float* beta, std::size_t columns, float* prepared) {
  const std::size_t part = norm_part_floats(columns);
  split_columns(gamma, columns, prepared, prepared + part);
  split_columns(beta, columns, prepared + 2 * part, prepared + 3 * part);
  const std::uint32_t lost = upper_halves(gamma, columns, reinterpret_cast<Bf16*>(prepared + 4 * part)) |
                             upper_halves(beta, columns, reinterpret_cast<Bf16*>(prepared + 5 * part));
  prepared[6 * part] = lost == 0 ? 1.0F : 0.0F;
}

}  // namespace headroom::native::avx512

HEADROOM_END_TARGET
#endif
