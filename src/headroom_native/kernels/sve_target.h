// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Kernels on SVE, the scalable vectors of aarch64: intrinsics of the compiler, for the vectors of Highway
/// have no size there ("array elements cannot have SVE type"), and our kernels keep arrays of them. Compiled
/// where the compiler gives intrinsics to single functions: GCC does, Clang from 16 on.
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)
#define HEADROOM_HAS_SVE 1
#include "headroom_native/kernels/avx512_target.h"
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
