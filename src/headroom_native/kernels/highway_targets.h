// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Targets that isa.h chooses among; each adds its full compile time. Include before Highway's headers.
#if defined(__x86_64__)
// Keeps the baseline, AVX2 and AVX3 (AVX-512); better targets have lower bits.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3 - 1))
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
