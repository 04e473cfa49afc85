// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwy/highway.h>

#include <cstdint>

#include "headroom_native/kernels/compiler_vectors.h"
#include "headroom_native/kernels/isa.h"

/// The version for `isa` of a function that is compiled for each target, without Highway's process-wide
/// choice: one process may use several, as the tests do. Usable where HWY_ONCE, in the namespace around
/// HWY_NAMESPACE.
#define HEADROOM_HIGHWAY_FUNCTION(function, isa)                                                            \
  (::headroom::native::version_for(isa, &HWY_STATIC_DISPATCH(function), &HEADROOM_AVX2_NAMESPACE::function, \
                                   &HEADROOM_AVX512_NAMESPACE::function))

// Where the compiler may assume AVX2 of every CPU, that is the baseline, and nothing below is compiled.
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

/// Whether Highway has vectors for `target`. If not, compiler_vectors.h has.
#define HEADROOM_HIGHWAY_HAS_VECTORS(target) (((target) & (HWY_SCALAR | HWY_EMU128)) == 0)

namespace headroom::native {

template <typename Version>
Version version_for(Isa isa, Version baseline, Version avx2, Version avx512) {
  if (isa >= Isa::kAvx512) return avx512;
  return isa >= Isa::kAvx2 ? avx2 : baseline;
}

/// Whether Highway has vectors for `isa` (not on the baseline of x86).
constexpr bool has_highway_vectors(Isa isa) {
  return HEADROOM_HIGHWAY_HAS_VECTORS(HWY_STATIC_TARGET) ||
         ((HWY_TARGETS & HWY_AVX2) != 0 && isa >= Isa::kAvx2);
}

/// What the versions of `isa` compute with: "SSE2", "AVX2", "AVX3", "NEON".
inline const char* vectors_of(Isa isa) {
  constexpr std::int64_t kBaseline = HWY_STATIC_TARGET;
  constexpr std::int64_t kAvx2 = (HWY_TARGETS & HWY_AVX2) != 0 ? HWY_AVX2 : kBaseline;
  constexpr std::int64_t kAvx512 = (HWY_TARGETS & HWY_AVX3) != 0 ? HWY_AVX3 : kAvx2;
  const std::int64_t target = version_for(isa, kBaseline, kAvx2, kAvx512);
  return HEADROOM_HIGHWAY_HAS_VECTORS(target) ? hwy::TargetName(target) : compiler_vectors::kName;
}

}  // namespace headroom::native
