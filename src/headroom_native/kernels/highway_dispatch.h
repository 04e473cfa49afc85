// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "headroom_native/kernels/isa.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/// 16-byte compiler vectors with Highway's names and semantics, where Highway's baseline has none (before
/// version 1.0.4 its lowest x86 target is SSSE3).
namespace headroom::native::compiler_vectors {

#if defined(__x86_64__)
constexpr const char* kName = "SSE2";
#elif defined(__aarch64__)
constexpr const char* kName = "NEON";
#else
constexpr const char* kName = "16-byte vectors";
#endif

template <typename T, std::size_t kCount>
struct Tag {
  using Lane = T;
  static constexpr std::size_t kLanes = kCount;
  using Vector [[gnu::vector_size(sizeof(T) * kCount)]] = T;
};
template <typename T>
using ScalableTag = Tag<T, 16 / sizeof(T)>;
template <typename T, typename D>
using Repartition = Tag<T, D::kLanes * sizeof(typename D::Lane) / sizeof(T)>;
template <typename T, typename D>
using Rebind = Tag<T, D::kLanes>;
template <typename D>
using Vec = typename D::Vector;

template <typename D>
constexpr std::size_t Lanes(D) {
  return D::kLanes;
}

template <typename D, typename From>
[[gnu::always_inline]] inline Vec<D> BitCast(D, From from) {
  return reinterpret_cast<Vec<D>>(from);
}
template <typename D>
[[gnu::always_inline]] inline Vec<D> Zero(D) {
  return Vec<D>{};
}
template <typename D>
[[gnu::always_inline]] inline Vec<D> Set(D, typename D::Lane value) {
  return Vec<D>{} + value;
}
template <typename D>
[[gnu::always_inline]] inline Vec<D> Inf(D tag) {
  return Set(tag, std::numeric_limits<typename D::Lane>::infinity());
}

template <typename D>
[[gnu::always_inline]] inline Vec<D> LoadU(D, const typename D::Lane* from) {
  Vec<D> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <typename D>
[[gnu::always_inline]] inline void StoreU(Vec<D> vector, D, typename D::Lane* to) {
  std::memcpy(to, &vector, sizeof vector);
}
/// Bypasses the caches if possible; `to` must be aligned.
template <typename D>
[[gnu::always_inline]] inline void Stream(Vec<D> vector, [[maybe_unused]] D tag, typename D::Lane* to) {
#if defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(vector));
#else
  StoreU(vector, tag, to);
#endif
}

#define HEADROOM_OPERATOR(name, symbol)               \
  template <typename V>                               \
  [[gnu::always_inline]] inline auto name(V a, V b) { \
    return a symbol b;                                \
  }
HEADROOM_OPERATOR(Add, +)
HEADROOM_OPERATOR(Sub, -)
HEADROOM_OPERATOR(Mul, *)
HEADROOM_OPERATOR(Div, /)
HEADROOM_OPERATOR(And, &)
HEADROOM_OPERATOR(Or, |)
HEADROOM_OPERATOR(Eq, ==)
HEADROOM_OPERATOR(Gt, >)
HEADROOM_OPERATOR(Ge, >=)
#undef HEADROOM_OPERATOR
template <typename V>
[[gnu::always_inline]] inline V Neg(V a) {
  return -a;
}
template <typename V>
[[gnu::always_inline]] inline V MulAdd(V a, V b, V c) {
  return a * b + c;
}
template <typename V>
[[gnu::always_inline]] inline V NegMulAdd(V a, V b, V c) {
  return c - a * b;
}
template <int kBits, typename V>
[[gnu::always_inline]] inline V ShiftLeft(V a) {
  return a << kBits;
}
template <int kBits, typename V>
[[gnu::always_inline]] inline V ShiftRight(V a) {
  return a >> kBits;
}

template <typename V>
[[gnu::always_inline]] inline auto IsNaN(V a) {
  return a != a;
}
template <typename D, typename Mask>
[[gnu::always_inline]] inline Mask RebindMask(D, Mask mask) {
  return mask;
}
template <typename Mask, typename V>
[[gnu::always_inline]] inline V IfThenElse(Mask mask, V yes, V no) {
  return mask ? yes : no;
}
/// -1 if no lane is true.
template <typename D, typename Mask>
[[gnu::always_inline]] inline std::intptr_t FindFirstTrue(D, Mask mask) {
  std::uint64_t words[sizeof mask / sizeof(std::uint64_t)];
  std::memcpy(words, &mask, sizeof mask);
  if ((words[0] | words[1]) == 0) return -1;
  std::size_t lane = 0;
  while (mask[lane] == 0) ++lane;
  return static_cast<std::intptr_t>(lane);
}

template <int... kLane, typename V>
[[gnu::always_inline]] inline V shuffle(V a, V b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kLane...);
#else
  // A comparison's type: integers as wide as the lanes.
  return __builtin_shuffle(a, b, decltype(a == b){kLane...});
#endif
}
template <typename V>
[[gnu::always_inline]] inline auto GetLane(V vector) {
  return vector[0];
}
template <typename D>
[[gnu::always_inline]] inline Vec<D> SumOfLanes(D, Vec<D> vector) {
  static_assert(D::kLanes == 4);
  const Vec<D> halves = vector + shuffle<2, 3, 0, 1>(vector, vector);
  return halves + shuffle<1, 0, 3, 2>(halves, halves);
}

template <typename D>
[[gnu::always_inline]] inline Vec<D> InterleaveLower(D, Vec<D> x, Vec<D> y) {
  if constexpr (D::kLanes == 2) {
    return shuffle<0, 2>(x, y);
  } else {
    static_assert(D::kLanes == 4);
    return shuffle<0, 4, 1, 5>(x, y);
  }
}
template <typename D>
[[gnu::always_inline]] inline Vec<D> InterleaveUpper(D, Vec<D> x, Vec<D> y) {
  if constexpr (D::kLanes == 2) {
    return shuffle<1, 3>(x, y);
  } else {
    static_assert(D::kLanes == 4);
    return shuffle<2, 6, 3, 7>(x, y);
  }
}

/// Separates pairs x0 y0 x1 y1 ... in memory.
template <typename D>
[[gnu::always_inline]] inline void LoadInterleaved2(D tag, const typename D::Lane* from, Vec<D>& x,
                                                    Vec<D>& y) {
  static_assert(D::kLanes == 4);
  const Vec<D> low = LoadU(tag, from), high = LoadU(tag, from + 4);
  x = shuffle<0, 2, 4, 6>(low, high);
  y = shuffle<1, 3, 5, 7>(low, high);
}
template <typename D>
[[gnu::always_inline]] inline void StoreInterleaved2(Vec<D> x, Vec<D> y, D tag, typename D::Lane* to) {
  static_assert(D::kLanes == 4);
  StoreU(InterleaveLower(tag, x, y), tag, to);
  StoreU(InterleaveUpper(tag, x, y), tag, to + 4);
}

using Floats = ScalableTag<float>;
using Integers = Rebind<std::int32_t, Floats>;
using Words = Rebind<std::uint32_t, Floats>;

/// Widens by interleaving, because GCC 12 converts lane by lane.
[[gnu::always_inline]] inline Vec<Integers> PromoteTo(Integers tag, Vec<Rebind<std::int8_t, Floats>> bytes) {
  using Bytes = ScalableTag<std::int8_t>;
  using Halves = ScalableTag<std::int16_t>;
  std::int32_t word;
  std::memcpy(&word, &bytes, sizeof word);
  const Vec<Bytes> low = BitCast(Bytes(), Vec<Integers>{word});
  const Vec<Halves> twice =
      BitCast(Halves(), shuffle<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(low, low));
  return ShiftRight<24>(BitCast(tag, shuffle<0, 8, 1, 9, 2, 10, 3, 11>(twice, twice)));
}
[[gnu::always_inline]] inline Vec<Words> PromoteTo(Words tag, Vec<Rebind<std::uint16_t, Floats>> halves) {
  using Halves = ScalableTag<std::uint16_t>;
  std::uint64_t four;
  std::memcpy(&four, &halves, sizeof four);
  const Vec<Halves> low = BitCast(Halves(), Vec<ScalableTag<std::uint64_t>>{four});
  return BitCast(tag, shuffle<0, 8, 1, 9, 2, 10, 3, 11>(low, Zero(Halves())));
}
/// The values must fit (Highway would saturate).
[[gnu::always_inline]] inline Vec<Rebind<std::uint16_t, Floats>> DemoteTo(Rebind<std::uint16_t, Floats>,
                                                                          Vec<Integers> values) {
  return __builtin_convertvector(values, Vec<Rebind<std::uint16_t, Floats>>);
}
template <typename D, typename V>
[[gnu::always_inline]] inline Vec<D> ConvertTo(D, V values) {
  return __builtin_convertvector(values, Vec<D>);
}

/// 2^n times a polynomial for |r| <= log(2) / 2, coefficients of Cephes (expf.c, S. Moshier). x must be
/// neither NaN nor above the logarithm of the largest float.
[[gnu::always_inline]] inline Vec<Floats> Exp(Floats tag, Vec<Floats> x) {
  // Adding and subtracting 1.5 * 2^23 rounds to an integer.
  const Vec<Floats> round = Set(tag, 12582912.0F);
  const Vec<Floats> n = (x * 1.44269504F + round) - round;
  const Vec<Floats> r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Vec<Floats> p = Set(tag, 1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  // Two factors, because 2^128 overflows even if its product with p does not.
  const Vec<Integers> power = ConvertTo(Integers(), n), half = ShiftRight<1>(power);
  const Vec<Floats> first = BitCast(tag, (half + 127) << 23),
                    second = BitCast(tag, (power - half + 127) << 23);
  return IfThenElse(x < -104.0F, Zero(tag), p * first * second);
}

}  // namespace headroom::native::compiler_vectors

/// `function` for `isa`. Highway's choice is process-wide, but a process here uses several targets. Use
/// within HWY_ONCE, around HWY_NAMESPACE.
#define HEADROOM_HIGHWAY_FUNCTION(function, isa)                                                            \
  (::headroom::native::version_for(isa, &HWY_STATIC_DISPATCH(function), &HEADROOM_AVX2_NAMESPACE::function, \
                                   &HEADROOM_AVX512_NAMESPACE::function))

// If the compiler may assume AVX2, no lower target is compiled.
#if (HWY_TARGETS & HWY_AVX2) != 0
#define HEADROOM_AVX2_NAMESPACE N_AVX2
#elif (HWY_TARGETS & HWY_AVX3) != 0
#define HEADROOM_AVX2_NAMESPACE N_AVX3
#else
#define HEADROOM_AVX2_NAMESPACE HWY_NAMESPACE
#endif
#if (HWY_TARGETS & HWY_AVX3) != 0
#define HEADROOM_AVX512_NAMESPACE N_AVX3
#else
#define HEADROOM_AVX512_NAMESPACE HEADROOM_AVX2_NAMESPACE
#endif

/// Otherwise use compiler_vectors.
#define HEADROOM_HIGHWAY_HAS_VECTORS(target) (((target) & (HWY_SCALAR | HWY_EMU128)) == 0)

namespace headroom::native {

template <typename Version>
Version version_for(Isa isa, Version baseline, Version avx2, Version avx512) {
  if (isa >= Isa::kAvx512) return avx512;
  return isa >= Isa::kAvx2 ? avx2 : baseline;
}

/// False on the x86 baseline only.
constexpr bool has_highway_vectors(Isa isa) {
  return HEADROOM_HIGHWAY_HAS_VECTORS(HWY_STATIC_TARGET) ||
         ((HWY_TARGETS & HWY_AVX2) != 0 && isa >= Isa::kAvx2);
}

/// "SSE2", "AVX2", "AVX3" or "NEON".
inline const char* vector_target(Isa isa) {
  constexpr std::int64_t kBaseline = HWY_STATIC_TARGET;
  constexpr std::int64_t kAvx2 = (HWY_TARGETS & HWY_AVX2) != 0 ? HWY_AVX2 : kBaseline;
  constexpr std::int64_t kAvx512 = (HWY_TARGETS & HWY_AVX3) != 0 ? HWY_AVX3 : kAvx2;
  const std::int64_t target = version_for(isa, kBaseline, kAvx2, kAvx512);
  return HEADROOM_HIGHWAY_HAS_VECTORS(target) ? hwy::TargetName(target) : compiler_vectors::kName;
}

}  // namespace headroom::native
