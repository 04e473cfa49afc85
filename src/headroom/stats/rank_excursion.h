// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace headroom {

/// The values from `begin` up to `end` lie higher, or lower, than those around them.
struct RankExcursion {
  std::size_t begin = 0, end = 0;
  double z = 0;  ///< below; not corrected for autocorrelation
};

/// The largest z = |R - k(n+1)/2| / sqrt(k(n-k)(n+1)/12), R the sum of the ranks of the k values between two
/// places, with at least three values before, between and behind; z = 0 for fewer than 9 values.
RankExcursion largest_rank_excursion(std::span<const double> values);

/// What the largest z of `count` independent values exceeds in one of 1,000 orders: simulated, as
/// change_critical. Nothing for fewer than 14 values.
std::optional<double> rank_excursion_critical(std::size_t count);

}  // namespace headroom
