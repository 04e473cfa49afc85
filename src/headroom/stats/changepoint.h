// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// A series became another one: `index` is the first value after the change.
struct ChangePoint {
  std::size_t index = 0;
  double z = 0;  ///< the statistic below, corrected for autocorrelation
};

/// Where the level of `values` (in the order of time) changed, in ascending order. About two steady series in
/// 1,000 get a change that is none; fewer than 14 values tell nothing.
///
/// Method. z(t) = |R_t - t(n+1)/2| / sqrt(t(n-t)(n+1)/12), R_t the sum of the ranks of the first t values
/// (mid-ranks for ties); the largest z over 3 <= t <= n-3 is held against the quantile that it has in series
/// without a change, which depends on n alone (change_critical). Where it is exceeded the series is cut there
/// and both parts are searched again; at last each cut is moved to the best place between its neighbours and
/// kept only if it is still significant. Ranks make it indifferent to skew and to spikes. A level
/// that came back hides from a single cut, so that where there is none, the values between two cuts are held
/// against all others in the same way.
///
/// Neighbours that are alike make z too large: it is multiplied by sqrt((1 - rho)/(1 + rho)), rho the lag-1
/// correlation of the ranks within the two parts, so that the change itself does not count as correlation.
/// bench/changepoints.cpp measures how often it is wrong and how soon it is right.
std::vector<ChangePoint> change_points(std::span<const double> values);

/// A change after the last one in `changes` (as change_points gave them) that the looser level kSuspected
/// shows: too early to call a change, time to measure again.
std::optional<ChangePoint> suspected_change(std::span<const double> values,
                                            std::span<const ChangePoint> changes);

/// How often a series without a change may be said to have one.
enum class ChangeLevel {
  kSuspected,  ///< 1 in 100
  kCertain,    ///< 1 in 1,000
};

/// The value that the largest z of `count` independent values exceeds with the probability of `level`:
/// simulated once for a grid of counts, linear in ln(count) in between. Nothing for fewer than 14 values.
std::optional<double> change_critical(std::size_t count, ChangeLevel level);

/// The largest z of `values` and where it is, not corrected; nothing for fewer than 6 values.
std::optional<ChangePoint> largest_rank_shift(std::span<const double> values);

/// The values from `begin` up to `end` lie higher, or lower, than those around them.
struct RankExcursion {
  std::size_t begin = 0, end = 0;
  double z = 0;  ///< as above, for the ranks of the values between the two places; not corrected
};

/// The largest; z = 0 for fewer than 9 values.
RankExcursion largest_rank_excursion(std::span<const double> values);

}  // namespace headroom
