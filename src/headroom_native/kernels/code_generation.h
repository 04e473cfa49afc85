// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Before a loop: unrolls it up to `times` times. Clang ignores `#pragma GCC unroll`.
#define HEADROOM_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(unroll times)
#else
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(GCC unroll times)
#endif

namespace headroom::native {

/// Target of a prefetch: nothing, all caches, the first-level cache only, or all but the first level.
enum class Ahead { kNone, kAllCaches, kAroundCaches, kLargerCaches };

template <Ahead kAhead>
[[gnu::always_inline]] inline void prefetch(const void* line) {
  if constexpr (kAhead == Ahead::kAllCaches) __builtin_prefetch(line, 0, 3);
  if constexpr (kAhead == Ahead::kAroundCaches) __builtin_prefetch(line, 0, 0);
  if constexpr (kAhead == Ahead::kLargerCaches) __builtin_prefetch(line, 0, 2);
}

}  // namespace headroom::native

/// Functions between HEADROOM_BEGIN_TARGET("avx512f,...") and HEADROOM_END_TARGET are compiled for CPUs
/// with these extensions. Include every header before it: the linker may keep an inline standard library
/// function compiled here for the whole program, which then fails on CPUs without AVX-512. Compiler options
/// for whole files have the same problem, so there are none (tests/native/machine_code_test.py checks).
#if defined(__clang__)
#define HEADROOM_BEGIN_TARGET(options) \
  HEADROOM_PRAGMA(clang attribute push(__attribute__((target(options))), apply_to = function))
#define HEADROOM_END_TARGET HEADROOM_PRAGMA(clang attribute pop)
#else
// GCC 12 warns about values that its own headers leave undefined on purpose (bug 105593).
#define HEADROOM_BEGIN_TARGET(options)                            \
  HEADROOM_PRAGMA(GCC diagnostic push)                            \
  HEADROOM_PRAGMA(GCC diagnostic ignored "-Wmaybe-uninitialized") \
  HEADROOM_PRAGMA(GCC diagnostic ignored "-Wuninitialized")       \
  HEADROOM_PRAGMA(GCC push_options)                               \
  HEADROOM_PRAGMA(GCC target(options))
#define HEADROOM_END_TARGET        \
  HEADROOM_PRAGMA(GCC pop_options) \
  HEADROOM_PRAGMA(GCC diagnostic pop)
#endif

/// SVE, the scalable vectors of aarch64, by compiler intrinsics: Highway's vectors have no size there
/// ("array elements cannot have SVE type"), and our kernels keep arrays of vectors. Needs a compiler with
/// intrinsics for single functions: GCC, or Clang 16 and later.
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)
#define HEADROOM_HAS_SVE 1
#define HEADROOM_BEGIN_SVE HEADROOM_BEGIN_TARGET(HEADROOM_SVE_OPTIONS)
#define HEADROOM_END_SVE HEADROOM_END_TARGET
#if defined(__clang__)
#define HEADROOM_SVE_OPTIONS "sve,bf16"
#else
#define HEADROOM_SVE_OPTIONS "arch=armv8.2-a+sve+bf16"
#endif
#else
#define HEADROOM_HAS_SVE 0
#endif
