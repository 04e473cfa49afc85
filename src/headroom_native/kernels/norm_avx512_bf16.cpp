// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/norm_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "headroom/experiment/bf16.h"
#include "headroom_native/kernels/avx512_sums.h"
#include "headroom_native/kernels/code_generation.h"

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma")

/// gamma and beta in even and odd columns: floats, or bf16 if exact, which halves the bytes read per block of
/// rows.
namespace headroom::native::avx512 {

struct NormParameters {
  __m512 gamma_even, gamma_odd, beta_even, beta_odd;
};

[[gnu::always_inline]] inline __m512 even_columns(__m512i words) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}
[[gnu::always_inline]] inline __m512 odd_columns(__m512i words) {
  return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}

/// In the layout of norm_part_floats.
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

/// Stored after the four parts of floats.
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

/// 0 if exact.
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

inline bool are_bf16(const float* prepared, std::size_t columns) {
  return prepared[6 * norm_part_floats(columns)] != 0;
}

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

/// Sums and squares in one pass of vpdpbf16ps, then several rows at once, which share the loads of gamma and
/// beta. Prefetches into L2, as L1 holds a row and its parameters. Rows with a variance small compared to the
/// mean take the portable kernel, which centres first.
namespace headroom::native {
namespace {

HEADROOM_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,fma,avx512bf16")

constexpr std::size_t kColumns = 32;  // bf16 of one register
constexpr std::size_t kLine = 64;

const NormKernel& centring_kernel() {
  static const NormKernel kernel = portable_norm_kernel(Isa::kAvx512);
  return kernel;
}

[[gnu::always_inline]] inline __mmask32 first_columns(std::size_t count) {
  return static_cast<__mmask32>(avx512::first_bytes(count < kColumns ? count : kColumns));
}

/// y = x * scale + shift, before gamma and beta.
struct Moments {
  float scale;  ///< 1 / sqrt(variance + epsilon)
  float shift;  ///< -mean * scale
  bool trusted;
};

template <bool kAhead>
[[gnu::always_inline]] inline Moments moments_of(const Bf16* row, std::size_t columns, std::size_t ahead) {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 sums[4], squares[4];
  HEADROOM_UNROLL(4)
  for (int u = 0; u < 4; ++u) sums[u] = squares[u] = _mm512_setzero_ps();
  const auto add = [&](int u, __m512i line) {
    const auto x = reinterpret_cast<__m512bh>(line);
    sums[u] = _mm512_dpbf16_ps(sums[u], x, ones);
    squares[u] = _mm512_dpbf16_ps(squares[u], x, x);
  };
  std::size_t k = 0;
  for (; k + 4 * kColumns <= columns; k += 4 * kColumns) {
    HEADROOM_UNROLL(4)
    for (int u = 0; u < 4; ++u) {
      const Bf16* from = row + k + static_cast<std::size_t>(u) * kColumns;
      if constexpr (kAhead) {
        prefetch<PrefetchHint::kLargerCaches>(reinterpret_cast<const std::byte*>(from) + ahead);
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
  const float part = 1.0F / static_cast<float>(columns);
  const float mean = (both[0] + both[1]) * part;
  const float variance = (both[2] + both[3]) * part - mean * mean;
  const float scale = 1.0F / std::sqrt(variance + kNormEpsilon);
  // Rounding errs by about 1e-6 of the mean square, at most 1e-4 of the variance: below bf16 resolution.
  const bool trusted = mean * mean <= 64 * variance && variance > 1e-30F && variance < 1e30F;
  return {scale, -mean * scale, trusted};
}

/// vcvtne2ps2bf16 of odd and even columns puts the even ones first.
[[gnu::always_inline]] inline __m512i interleaving() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                          20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
}

template <int kRows, bool kStream, bool kNextBlock, typename Parameters>
[[gnu::always_inline]] inline void normalise(const Bf16* x, std::size_t columns, const Moments* moments,
                                             const Parameters& parameters, Bf16* y) {
  const __m512i order = interleaving();
  __m512 scale[kRows], shift[kRows];
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    scale[i] = _mm512_set1_ps(moments[i].scale);
    shift[i] = _mm512_set1_ps(moments[i].shift);
  }
  const auto result = [&](int i, __m512i words, const avx512::NormParameters& with) {
    const __m512 even = _mm512_fmadd_ps(avx512::even_columns(words), scale[i], shift[i]);
    const __m512 odd = _mm512_fmadd_ps(avx512::odd_columns(words), scale[i], shift[i]);
    const __m512 even_y = _mm512_fmadd_ps(even, with.gamma_even, with.beta_even);
    const __m512 odd_y = _mm512_fmadd_ps(odd, with.gamma_odd, with.beta_odd);
    return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd_y, even_y)));
  };
  std::size_t k = 0;
  for (; k + kColumns <= columns; k += kColumns) {
    // Before any store, which might alias the parameters.
    const avx512::NormParameters with = parameters.from(k);
    __m512i lines[kRows];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * columns + k;
      if constexpr (kNextBlock) {
        prefetch<PrefetchHint::kLargerCaches>(x + at + static_cast<std::size_t>(kRows) * columns);
      }
      lines[i] = result(i, _mm512_loadu_si512(x + at), with);
    }
    HEADROOM_UNROLL(4)
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
  const avx512::NormParameters with = parameters.from(k);
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * columns + k;
    _mm512_mask_storeu_epi16(y + at, which, result(i, _mm512_maskz_loadu_epi16(which, x + at), with));
  }
}

template <int kRows, bool kStream, typename Parameters>
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
  const Parameters parameters(prepared, columns);
  if (walk.next_block) {
    normalise<kRows, kStream, true>(x, columns, moments, parameters, y);
  } else {
    normalise<kRows, kStream, false>(x, columns, moments, parameters, y);
  }
}

template <int kRows, bool kStream, typename Parameters>
void blocks(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
            Bf16* y) {
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    block<kRows, kStream, Parameters>(x + row * columns, columns, prepared, walk, y + row * columns);
  }
  if constexpr (kRows > 1) {
    if (row < rows) {
      return blocks<1, kStream, Parameters>(x + row * columns, rows - row, columns, prepared, walk,
                                            y + row * columns);
    }
  }
  if (kStream) _mm_sfence();
}

template <int kRows, typename Parameters>
void stored_blocks(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
                   Bf16* y) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % kLine == 0 && columns * sizeof(Bf16) % kLine == 0;
  if (walk.stores == Stores::kNontemporal && aligned) {
    blocks<kRows, true, Parameters>(x, rows, columns, prepared, walk, y);
  } else {
    blocks<kRows, false, Parameters>(x, rows, columns, prepared, walk, y);
  }
}

template <typename Parameters>
void rows_with(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) {
  if (walk.rows >= 4) return stored_blocks<4, Parameters>(x, rows, columns, prepared, walk, y);
  if (walk.rows >= 2) return stored_blocks<2, Parameters>(x, rows, columns, prepared, walk, y);
  stored_blocks<1, Parameters>(x, rows, columns, prepared, walk, y);
}

void rows_of(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
             Bf16* y) {
  if (avx512::are_bf16(prepared, columns)) {
    rows_with<avx512::Bf16Parameters>(x, rows, columns, prepared, walk, y);
  } else {
    rows_with<avx512::FloatParameters>(x, rows, columns, prepared, walk, y);
  }
}

HEADROOM_END_TARGET

}  // namespace

NormKernel norm_avx512_bf16() {
  return {avx512::prepare_norm, rows_of, centring_kernel().vector, "avx512_bf16"};
}

}  // namespace headroom::native
#endif
