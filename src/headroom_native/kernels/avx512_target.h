// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_native/kernels/unroll.h"

/// Functions between HEADROOM_BEGIN_TARGET("avx512f,...") and HEADROOM_END_TARGET are compiled for CPUs that
/// have this beyond the baseline. All headers come before: an inline function of the standard library that
/// were compiled so might be the one that the linker keeps for the whole program, also where a CPU has no
/// AVX-512. For the same reason there are no options of the compiler for these files
/// (tests/native/machine_code_test.py looks).
#if defined(__clang__)
#define HEADROOM_BEGIN_TARGET(options) \
  HEADROOM_PRAGMA(clang attribute push(__attribute__((target(options))), apply_to = function))
#define HEADROOM_END_TARGET HEADROOM_PRAGMA(clang attribute pop)
#else
// GCC 12 warns of the value that its own headers leave undefined on purpose (bug 105593).
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
