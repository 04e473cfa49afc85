// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Before a loop: unrolls it, at most so many times. Clang takes no notice of `#pragma GCC unroll`.
#define HEADROOM_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(unroll times)
#else
#define HEADROOM_UNROLL(times) HEADROOM_PRAGMA(GCC unroll times)
#endif
