// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// Makes the compiler compute `value`, at no cost at run time: for results that nothing else reads.
template <typename T>
[[gnu::always_inline]] inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}
template <typename T>
[[gnu::always_inline]] inline void keep(T& value) {
  if constexpr (sizeof(T) <= sizeof(void*)) {
    asm volatile("" : "+m,r"(value) : : "memory");
  } else {
    asm volatile("" : "+m"(value) : : "memory");
  }
}

/// Makes the compiler write all pending stores and forget what it knows of memory.
[[gnu::always_inline]] inline void keep_memory() {
  asm volatile("" : : : "memory");
}

}  // namespace headroom
