// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/norm_kernel.h"

#include <cmath>
#include <cstdint>

#include "headroom_native/kernels/code_generation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/norm_kernel.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per target
// Highway's own headers must follow foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#include "headroom_native/kernels/highway_vectors.h"

using WordVector = hn::Vec<Words>;

HWY_INLINE void store_words(WordVector words, Bf16* to) {
  const hn::Repartition<std::uint16_t, Words> halves;
  hn::StoreU(hn::BitCast(halves, words), halves, reinterpret_cast<std::uint16_t*>(to));
}

/// Rounds to nearest even; the result is in the upper half.
HWY_INLINE WordVector rounded(Vector value) {
  const Words tag;
  const WordVector bits = hn::BitCast(tag, value);
  const WordVector last = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1U));
  return hn::Add(bits, hn::Add(last, hn::Set(tag, 0x7fffU)));
}

#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
/// Eight instructions in 16-bit lanes, not eleven in words.
HWY_INLINE WordVector joined(Vector even, Vector odd) {
  const Words tag;
  const hn::Repartition<std::uint16_t, F32> halves;
  const WordVector even_bits = hn::BitCast(tag, even), odd_bits = hn::BitCast(tag, odd);
  const auto upper =
      hn::OddEven(hn::BitCast(halves, odd_bits), hn::BitCast(halves, hn::ShiftRight<16>(even_bits)));
  const auto lower =
      hn::OddEven(hn::BitCast(halves, hn::ShiftLeft<16>(odd_bits)), hn::BitCast(halves, even_bits));
  // The lower half rounds up from 0x8000 on, or above it if the last kept bit is 0.
  const auto one_if_even = hn::AndNot(upper, hn::Set(halves, std::uint16_t{1}));
  const auto up = hn::ShiftRight<15>(hn::SaturatedSub(lower, one_if_even));
  return hn::BitCast(tag, hn::Add(upper, up));
}
#else
HWY_INLINE WordVector joined(Vector even, Vector odd) {
  return hn::Or(hn::ShiftRight<16>(rounded(even)), hn::And(rounded(odd), hn::Set(Words(), 0xffff0000U)));
}
#endif

struct Moments {
  float mean;
  float scale;      ///< 1 / sqrt(variance + epsilon)
  bool is_centred;  ///< x * scale - mean * scale is as exact as rounding: the mean is small
};

HWY_INLINE Moments moments(float mean, float squares, std::size_t columns) {
  const float variance = squares / static_cast<float>(columns);
  return {mean, 1.0F / std::sqrt(variance + kNormEpsilon), mean * mean <= 64 * variance};
}

/// Squares centred values.
Moments moments_by_centring(const Bf16* row, std::size_t columns) {
  const F32 tag;
  const std::size_t step = 2 * hn::Lanes(tag);
  Vector even = hn::Zero(tag), odd = even;
  std::size_t k = 0;
  for (; k + step <= columns; k += step) {
    const auto words = load_words(row + k);
    even = hn::Add(even, even_columns(words));
    odd = hn::Add(odd, odd_columns(words));
  }
  float sum = sum_of(hn::Add(even, odd));
  for (; k < columns; ++k) sum += to_float(row[k]);

  const float mean = sum / static_cast<float>(columns);
  const Vector means = hn::Set(tag, mean);
  even = odd = hn::Zero(tag);
  for (k = 0; k + step <= columns; k += step) {
    const auto words = load_words(row + k);
    const Vector a = hn::Sub(even_columns(words), means), b = hn::Sub(odd_columns(words), means);
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  float squares = sum_of(hn::Add(even, odd));
  for (; k < columns; ++k) squares += (to_float(row[k]) - mean) * (to_float(row[k]) - mean);
  return moments(mean, squares, columns);
}

/// One pass; two if rounding would lose a variance small compared to the mean.
template <PrefetchHint kAhead>
HWY_INLINE Moments moments_of(const Bf16* row, std::size_t columns, std::size_t ahead) {
  constexpr std::size_t kStep = 2 * sizeof(Vector) / sizeof(float);
  constexpr std::size_t kVectors = sizeof(Vector) > 32 ? 2 : 64 / sizeof(Vector);
  const F32 tag;
  Vector sums[2] = {hn::Zero(tag), hn::Zero(tag)}, squares[4] = {sums[0], sums[0], sums[0], sums[0]};
  std::size_t k = 0;
  for (; k + kVectors * kStep <= columns; k += kVectors * kStep) {
    HEADROOM_UNROLL(4)
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Bf16* from = row + k + v * kStep;
      if (v * sizeof(Vector) % 64 == 0) prefetch<kAhead>(reinterpret_cast<const std::byte*>(from) + ahead);
      const auto words = load_words(from);
      const Vector even = even_columns(words), odd = odd_columns(words);
      sums[v % 2] = hn::Add(sums[v % 2], hn::Add(even, odd));
      squares[2 * (v % 2)] = hn::MulAdd(even, even, squares[2 * (v % 2)]);
      squares[2 * (v % 2) + 1] = hn::MulAdd(odd, odd, squares[2 * (v % 2) + 1]);
    }
  }
  float sum = sum_of(hn::Add(sums[0], sums[1]));
  float square = sum_of(hn::Add(hn::Add(squares[0], squares[1]), hn::Add(squares[2], squares[3])));
  for (; k < columns; ++k) {
    const float x = to_float(row[k]);
    sum += x;
    square += x * x;
  }
  const float mean = sum / static_cast<float>(columns);
  const float left = square - sum * mean;  // sum of squares about the mean
  const float variance = left / static_cast<float>(columns);
  const bool is_trusted = mean * mean <= 64 * variance && variance > 1e-30F && variance < 1e30F;
  return is_trusted ? moments(mean, left, columns) : moments_by_centring(row, columns);
}

struct Parameters {
  float* gamma_even;
  float* gamma_odd;
  float* beta_even;
  float* beta_odd;
};
HWY_INLINE Parameters split(float* prepared, std::size_t columns) {
  const std::size_t part = norm_part_floats(columns);
  return {prepared, prepared + part, prepared + 2 * part, prepared + 3 * part};
}

void prepare(const float* gamma, const float* beta, std::size_t columns, float* prepared) {
  const Parameters to = split(prepared, columns);
  for (std::size_t k = 0; k < columns; ++k) {
    (k % 2 == 0 ? to.gamma_even : to.gamma_odd)[k / 2] = gamma[k];
    (k % 2 == 0 ? to.beta_even : to.beta_odd)[k / 2] = beta[k];
  }
}

/// Adjacent rows share the loads of gamma and beta.
template <int kRows, bool kStream, bool kNextBlock, bool kCentred>
HWY_INLINE void normalise(const Bf16* x, std::size_t columns, const Moments* of, Parameters with, Bf16* y) {
  const F32 tag;
  const std::size_t step = 2 * hn::Lanes(tag);
  Vector scale[kRows], mean[kRows];  // if centred: -mean * scale
  HEADROOM_UNROLL(4)
  for (int i = 0; i < kRows; ++i) {
    scale[i] = hn::Set(tag, of[i].scale);
    mean[i] = hn::Set(tag, kCentred ? -of[i].mean * of[i].scale : of[i].mean);
  }
  std::size_t k = 0;
  for (; k + step <= columns; k += step) {
    const std::size_t half = k / 2;
    // Before any store, which might alias the parameters.
    const Vector gamma_even = hn::LoadU(tag, with.gamma_even + half);
    const Vector gamma_odd = hn::LoadU(tag, with.gamma_odd + half);
    const Vector beta_even = hn::LoadU(tag, with.beta_even + half);
    const Vector beta_odd = hn::LoadU(tag, with.beta_odd + half);
    WordVector results[kRows];
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      const Bf16* from = x + static_cast<std::size_t>(i) * columns + k;
      if (kNextBlock && k * sizeof(Bf16) % 64 == 0) {
        prefetch<PrefetchHint::kLargerCaches>(from + static_cast<std::size_t>(kRows) * columns);
      }
      const auto words = load_words(from);
      Vector even = even_columns(words), odd = odd_columns(words);
      if constexpr (kCentred) {
        even = hn::MulAdd(even, scale[i], mean[i]);
        odd = hn::MulAdd(odd, scale[i], mean[i]);
      } else {
        even = hn::Mul(hn::Sub(even, mean[i]), scale[i]);
        odd = hn::Mul(hn::Sub(odd, mean[i]), scale[i]);
      }
      results[i] = joined(hn::MulAdd(even, gamma_even, beta_even), hn::MulAdd(odd, gamma_odd, beta_odd));
    }
    HEADROOM_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      Bf16* to = y + static_cast<std::size_t>(i) * columns + k;
      if constexpr (kStream) {
        hn::Stream(results[i], Words(), reinterpret_cast<std::uint32_t*>(to));
      } else {
        store_words(results[i], to);
      }
    }
  }
  for (; k < columns; ++k) {
    const float gamma = (k % 2 == 0 ? with.gamma_even : with.gamma_odd)[k / 2];
    const float beta = (k % 2 == 0 ? with.beta_even : with.beta_odd)[k / 2];
    for (int i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * columns + k;
      y[at] = to_bf16((to_float(x[at]) - of[i].mean) * of[i].scale * gamma + beta);
    }
  }
}

template <int kRows, bool kStream>
HWY_INLINE void block(const Bf16* x, std::size_t columns, Parameters with, NormWalk walk, Bf16* y) {
  Moments of[kRows];
  bool is_centred = true;
  for (int i = 0; i < kRows; ++i) {
    const Bf16* row = x + static_cast<std::size_t>(i) * columns;
    of[i] = walk.ahead > 0 ? moments_of<PrefetchHint::kLargerCaches>(row, columns, walk.ahead)
                           : moments_of<PrefetchHint::kNone>(row, columns, 0);
    is_centred = is_centred && of[i].is_centred;
  }
  if (!is_centred) return normalise<kRows, kStream, false, false>(x, columns, of, with, y);
  if (walk.next_block) return normalise<kRows, kStream, true, true>(x, columns, of, with, y);
  normalise<kRows, kStream, false, true>(x, columns, of, with, y);
}

template <int kRows, bool kStream>
void blocks(const Bf16* x, std::size_t rows, std::size_t columns, Parameters with, NormWalk walk, Bf16* y) {
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    block<kRows, kStream>(x + row * columns, columns, with, walk, y + row * columns);
  }
  for (; row < rows; ++row) block<1, kStream>(x + row * columns, columns, with, walk, y + row * columns);
  if (kStream) hwy::FlushStream();
}

void norm_rows(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) {
  constexpr std::size_t kLine = 64;
  const Parameters with = split(const_cast<float*>(prepared), columns);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % kLine == 0 && columns * sizeof(Bf16) % kLine == 0;
  const bool stream = walk.stores == Stores::kNontemporal && aligned;
  if (walk.rows >= 4) {
    return stream ? blocks<4, true>(x, rows, columns, with, walk, y)
                  : blocks<4, false>(x, rows, columns, with, walk, y);
  }
  if (walk.rows >= 2) {
    return stream ? blocks<2, true>(x, rows, columns, with, walk, y)
                  : blocks<2, false>(x, rows, columns, with, walk, y);
  }
  return stream ? blocks<1, true>(x, rows, columns, with, walk, y)
                : blocks<1, false>(x, rows, columns, with, walk, y);
}

HWY_INLINE Moments moments_of(const float* x, std::size_t columns) {
  const F32 tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vector s0 = hn::Zero(tag), s1 = s0;
  std::size_t k = 0;
  for (; k + 2 * lanes <= columns; k += 2 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(tag, x + k));
    s1 = hn::Add(s1, hn::LoadU(tag, x + k + lanes));
  }
  float sum = sum_of(hn::Add(s0, s1));
  for (; k < columns; ++k) sum += x[k];

  const float mean = sum / static_cast<float>(columns);
  const Vector means = hn::Set(tag, mean);
  s0 = hn::Zero(tag), s1 = s0;
  for (k = 0; k + 2 * lanes <= columns; k += 2 * lanes) {
    const Vector a = hn::Sub(hn::LoadU(tag, x + k), means), b = hn::Sub(hn::LoadU(tag, x + k + lanes), means);
    s0 = hn::MulAdd(a, a, s0);
    s1 = hn::MulAdd(b, b, s1);
  }
  float squares = sum_of(hn::Add(s0, s1));
  for (; k < columns; ++k) squares += (x[k] - mean) * (x[k] - mean);
  return moments(mean, squares, columns);
}

void norm_vector(const float* x, std::size_t columns, const Bf16* gamma, const Bf16* beta, Bf16* y) {
  const F32 tag;
  const hn::Rebind<std::uint16_t, F32> halves;
  const hn::Rebind<std::int32_t, F32> integers;
  const std::size_t lanes = hn::Lanes(tag);
  const Moments of = moments_of(x, columns);
  const Vector mean = hn::Set(tag, of.mean), scale = hn::Set(tag, of.scale);
  const auto load = [&](const Bf16* from) HWY_ATTR {
    const auto words = hn::PromoteTo(Words(), hn::LoadU(halves, &from->bits));
    return hn::BitCast(tag, hn::ShiftLeft<16>(words));
  };
  std::size_t k = 0;
  for (; k + lanes <= columns; k += lanes) {
    const Vector normal = hn::Mul(hn::Sub(hn::LoadU(tag, x + k), mean), scale);
    const auto words = hn::ShiftRight<16>(rounded(hn::MulAdd(normal, load(gamma + k), load(beta + k))));
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(integers, words)), halves, &y[k].bits);
  }
  for (; k < columns; ++k)
    y[k] = to_bf16((x[k] - of.mean) * of.scale * to_float(gamma[k]) + to_float(beta[k]));
}

}  // namespace headroom::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headroom::native {
NormKernel portable_norm_kernel(Isa isa) {
  return {HEADROOM_HIGHWAY_FUNCTION(prepare, isa), HEADROOM_HIGHWAY_FUNCTION(norm_rows, isa),
          HEADROOM_HIGHWAY_FUNCTION(norm_vector, isa), vector_target(isa)};
}

NormKernel norm_kernel(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512Bf16) return norm_avx512_bf16();
#endif
#if HEADROOM_HAS_SVE
  if (isa >= Isa::kSve) return norm_sve();
#endif
  return portable_norm_kernel(isa);
}

}  // namespace headroom::native
#endif
