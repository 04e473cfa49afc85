// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/norm_kernel.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "headroom_native/kernels/norm_avx512.h"

#include "headroom_native/kernels/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headroom_native/kernels/norm_kernel.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
// Highway wants its own headers after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "headroom_native/kernels/highway_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace headroom::native::HWY_NAMESPACE {
#if HEADROOM_HIGHWAY_HAS_VECTORS(HWY_TARGET)
namespace hn = hwy::HWY_NAMESPACE;
#else
namespace hn = compiler_vectors;
#endif

using F32 = hn::ScalableTag<float>;
using Words = hn::Repartition<std::uint32_t, F32>;
using Vector = hn::Vec<F32>;
using WordVector = hn::Vec<Words>;

/// Two neighbouring bf16 lie in each word: the lower half is the even column. A bf16 is the upper half of a
/// float.
HWY_INLINE Vector even_columns(WordVector words) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(words));
}
HWY_INLINE Vector odd_columns(WordVector words) {
  return hn::BitCast(F32(), hn::And(words, hn::Set(Words(), 0xffff0000U)));
}
HWY_INLINE float sum_of(Vector vector) {
  return hn::GetLane(hn::SumOfLanes(F32(), vector));
}

HWY_INLINE WordVector load_words(const Bf16* from) {
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(from));
}
HWY_INLINE void store_words(WordVector words, Bf16* to) {
  hn::StoreU(words, Words(), reinterpret_cast<std::uint32_t*>(to));
}

/// The bits of `value` after rounding to bf16 (nearest even); only the upper half counts.
HWY_INLINE WordVector rounded(Vector value) {
  const Words tag;
  const WordVector bits = hn::BitCast(tag, value);
  const WordVector last = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1U));
  return hn::Add(bits, hn::Add(last, hn::Set(tag, 0x7fffU)));
}

struct Moments {
  float mean;
  float scale;  ///< 1 / sqrt(variance + epsilon)
};

HWY_INLINE Moments moments(float mean, float squares, std::size_t columns) {
  return {mean, 1.0F / std::sqrt(squares / static_cast<float>(columns) + kNormEpsilon)};
}

HWY_INLINE Moments moments_of(const Bf16* row, std::size_t columns, std::size_t ahead) {
  const F32 tag;
  const std::size_t step = 2 * hn::Lanes(tag);
  Vector e0 = hn::Zero(tag), o0 = e0, e1 = e0, o1 = e0;
  std::size_t k = 0;
  for (; k + 2 * step <= columns; k += 2 * step) {
    hwy::Prefetch(reinterpret_cast<const std::byte*>(row + k) + ahead);
    hwy::Prefetch(reinterpret_cast<const std::byte*>(row + k + step) + ahead);
    const auto first = load_words(row + k), second = load_words(row + k + step);
    e0 = hn::Add(e0, even_columns(first));
    o0 = hn::Add(o0, odd_columns(first));
    e1 = hn::Add(e1, even_columns(second));
    o1 = hn::Add(o1, odd_columns(second));
  }
  float sum = sum_of(hn::Add(hn::Add(e0, o0), hn::Add(e1, o1)));
  for (; k < columns; ++k) sum += to_float(row[k]);

  const float mean = sum / static_cast<float>(columns);
  const Vector means = hn::Set(tag, mean);
  e0 = hn::Zero(tag), o0 = e0, e1 = e0, o1 = e0;
  for (k = 0; k + 2 * step <= columns; k += 2 * step) {
    const auto first = load_words(row + k), second = load_words(row + k + step);
    const Vector a = hn::Sub(even_columns(first), means), b = hn::Sub(odd_columns(first), means);
    const Vector c = hn::Sub(even_columns(second), means), d = hn::Sub(odd_columns(second), means);
    e0 = hn::MulAdd(a, a, e0);
    o0 = hn::MulAdd(b, b, o0);
    e1 = hn::MulAdd(c, c, e1);
    o1 = hn::MulAdd(d, d, o1);
  }
  float squares = sum_of(hn::Add(hn::Add(e0, o0), hn::Add(e1, o1)));
  for (; k < columns; ++k) squares += (to_float(row[k]) - mean) * (to_float(row[k]) - mean);
  return moments(mean, squares, columns);
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

template <bool kStream>
HWY_INLINE void normalise(const Bf16* row, std::size_t columns, Moments of, Parameters with, Bf16* y) {
  const F32 tag;
  const std::size_t step = 2 * hn::Lanes(tag);
  const Vector mean = hn::Set(tag, of.mean), scale = hn::Set(tag, of.scale);
  const auto upper = hn::Set(Words(), 0xffff0000U);
  std::size_t k = 0;
  for (; k + step <= columns; k += step) {
    const auto words = load_words(row + k);
    const std::size_t half = k / 2;
    const Vector even = hn::Mul(hn::Sub(even_columns(words), mean), scale);
    const Vector odd = hn::Mul(hn::Sub(odd_columns(words), mean), scale);
    const Vector even_y =
        hn::MulAdd(even, hn::LoadU(tag, with.gamma_even + half), hn::LoadU(tag, with.beta_even + half));
    const Vector odd_y =
        hn::MulAdd(odd, hn::LoadU(tag, with.gamma_odd + half), hn::LoadU(tag, with.beta_odd + half));
    const auto result = hn::Or(hn::ShiftRight<16>(rounded(even_y)), hn::And(rounded(odd_y), upper));
    if (kStream) {
      hn::Stream(result, Words(), reinterpret_cast<std::uint32_t*>(y + k));
    } else {
      store_words(result, y + k);
    }
  }
  for (; k < columns; ++k) {
    const float gamma = (k % 2 == 0 ? with.gamma_even : with.gamma_odd)[k / 2];
    const float beta = (k % 2 == 0 ? with.beta_even : with.beta_odd)[k / 2];
    y[k] = to_bf16((to_float(row[k]) - of.mean) * of.scale * gamma + beta);
  }
}

void norm_rows(const Bf16* x, std::size_t rows, std::size_t columns, const float* prepared, NormWalk walk,
               Bf16* y) {
  constexpr std::size_t kLine = 64;
  const Parameters with = split(const_cast<float*>(prepared), columns);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(y) % kLine == 0 && columns * sizeof(Bf16) % kLine == 0;
  const bool stream = walk.stores == Stores::kAroundCaches && aligned;
  for (std::size_t row = 0; row < rows; ++row) {
    const Bf16* from = x + row * columns;
    const Moments of = moments_of(from, columns, walk.ahead);
    if (stream) {
      normalise<true>(from, columns, of, with, y + row * columns);
    } else {
      normalise<false>(from, columns, of, with, y + row * columns);
    }
  }
  if (stream) hwy::FlushStream();
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
          HEADROOM_HIGHWAY_FUNCTION(norm_vector, isa), vectors_of(isa)};
}

NormKernel norm_kernel(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512Bf16) return norm_avx512_bf16();
#endif
  return portable_norm_kernel(isa);
}

}  // namespace headroom::native
#endif
