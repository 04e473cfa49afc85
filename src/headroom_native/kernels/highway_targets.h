// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which of Highway's targets the kernels are compiled for: those that isa.h chooses among. Each costs as
/// much to compile as the others, whether a CPU will ever take it or not. Before Highway's headers.
#if defined(__x86_64__)
// The baseline, AVX2 and AVX-512 (Highway's AVX3); better targets have lower bits.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3 - 1))
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
