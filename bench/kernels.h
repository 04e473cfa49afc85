// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

/// For both tools, with the same inputs and compiler flags.
namespace bench {

/// Keeps a call with constant result in the loop.
inline void memory_may_change() {
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] inline double multiply_chain(double x, int count) {
  memory_may_change();
  for (int i = 0; i < count; ++i) x *= 1.0000001;
  return x;
}

inline constexpr int kChain = 1000;

/// Larger than private caches, the second about 3 % longer.
inline constexpr std::size_t kShortStream = std::size_t{4} << 20;
inline constexpr std::size_t kLongStream = kShortStream + kShortStream * 3 / 100;

[[gnu::noinline]] inline long stream_sum(const long* values, std::size_t count) {
  memory_may_change();
  long lanes[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
  }
  return std::accumulate(lanes, lanes + 8, 0L);
}

inline std::vector<long> stream_input() {
  std::vector<long> values(kLongStream);
  std::iota(values.begin(), values.end(), 1L);
  return values;
}

}  // namespace bench
