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
  double z = 0;  ///< of the rarest shift (level_shift.h), corrected for autocorrelation
};

/// Where the level of `values` (in the order of time) changed, in ascending order. About four steady series
/// in 1,000 get a change that is none; fewer than 14 values tell nothing.
///
/// Method. The cut that an order by chance would be least likely to show (rarest_level_shift) is held against
/// the quantile that its z has in series without a change, which depends on their length alone
/// (change_critical). Where it is exceeded the series is cut, where two levels fit best (best_step_place),
/// and both parts are searched again; at last each cut is moved to the best place between its neighbours and
/// kept only if it is still significant. A level that came back hides from a single cut, so that where there
/// is none, the values between two cuts are held against all others (largest_rank_excursion).
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
  kCertain,    ///< 3 in 1,000
};

/// The value that the z of the rarest shift of `count` independent values exceeds with the probability of
/// `level`: simulated once for a grid of counts, linear in ln(count) in between. Nothing for fewer than 14
/// values.
std::optional<double> change_critical(std::size_t count, ChangeLevel level);

}  // namespace headroom
