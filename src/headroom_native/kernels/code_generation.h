// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Highway's targets, chosen by isa.h; each adds its full compile time. Include before Highway.
#if defined(__x86_64__)
// Keeps the baseline, AVX2 and AVX3 (AVX-512); better targets have lower bits.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3 - 1))
#else
#define HWY_COMPILE_ONLY_STATIC
#endif

/// Clang ignores `#pragma GCC unroll`.
#define HEADROOM_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(unroll times)
#else
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(GCC unroll times)
#endif

namespace headroom::native {

/// Target of a prefetch: none, all caches, L1 only, or all but L1.
enum class PrefetchHint { kNone, kAllCaches, kNontemporal, kLargerCaches };

template <PrefetchHint kAhead>
[[gnu::always_inline]] inline void prefetch(const void* line) {
  if constexpr (kAhead == PrefetchHint::kAllCaches) __builtin_prefetch(line, 0, 3);
  if constexpr (kAhead == PrefetchHint::kNontemporal) __builtin_prefetch(line, 0, 0);
  if constexpr (kAhead == PrefetchHint::kLargerCaches) __builtin_prefetch(line, 0, 2);
}

}  // namespace headroom::native

/// Code in between is compiled for CPUs with these extensions. Include every header before: the linker may
/// keep an inline function compiled here for the whole program, which then fails on other CPUs. Compiler
/// options per file do the same (tests/native/machine_code_test.py).
#if defined(__clang__)
#define HEADROOM_BEGIN_TARGET(options) \
  HEADROOM_PRAGMA(clang attribute push(__attribute__((target(options))), apply_to = function))
#define HEADROOM_END_TARGET HEADROOM_PRAGMA(clang attribute pop)
#else
// GCC 12 warns about values that its own headers leave undefined (bug 105593).
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

/// SVE by intrinsics: our kernels keep arrays of vectors, but Highway's SVE vectors are sizeless. Needs GCC
/// or Clang 16 and later.
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
