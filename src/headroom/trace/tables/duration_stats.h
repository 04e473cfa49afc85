// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace headroom::trace {

/// a + b, held at the ends of the range: times of a damaged file must not wrap round.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// Count, sum, extremes, mean and spread of durations, one at a time.
class DurationStats {
 public:
  void add(std::int64_t duration_ns);
  std::int64_t count() const { return count_; }
  std::int64_t total_ns() const { return total_; }
  std::int64_t min_ns() const { return min_; }  ///< 0 of none
  std::int64_t max_ns() const { return max_; }
  double mean_ns() const { return mean_; }
  /// Of a sample (n - 1), as pandas and the other tools have it; 0 of fewer than two.
  double standard_deviation_ns() const;

 private:
  std::int64_t count_ = 0, total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;  // Welford's sums
};

}  // namespace headroom::trace
