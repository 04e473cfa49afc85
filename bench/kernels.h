// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

/// The work that both tools measure: the same functions, the same inputs, compiled with the same flags.
namespace bench {

/// Makes a function one that may touch memory: without it the compiler sees that a call in a loop always
/// gives the same result, and calls it once for all.
inline void memory_may_change() {
  asm volatile("" ::: "memory");
}

/// `count` multiplications, each waiting for the one before.
[[gnu::noinline]] inline double multiply_chain(double x, int count) {
  memory_may_change();
  for (int i = 0; i < count; ++i) x *= 1.0000001;
  return x;
}

inline constexpr int kChain = 1000;

/// Two streams over memory that no private cache holds, the second about 3 % longer.
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
