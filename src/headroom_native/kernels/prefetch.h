// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom::native {

/// What a kernel prefetches into: nothing, all caches, the first alone, or all but the first.
enum class Ahead { kNone, kAllCaches, kAroundCaches, kLargerCaches };

template <Ahead kAhead>
[[gnu::always_inline]] inline void prefetch(const void* line) {
  if constexpr (kAhead == Ahead::kAllCaches) __builtin_prefetch(line, 0, 3);
  if constexpr (kAhead == Ahead::kAroundCaches) __builtin_prefetch(line, 0, 0);
  if constexpr (kAhead == Ahead::kLargerCaches) __builtin_prefetch(line, 0, 2);
}

}  // namespace headroom::native
