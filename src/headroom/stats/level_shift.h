// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace headroom {

/// Values from `index` on lie higher, or lower, than those before.
struct LevelShift {
  std::size_t index = 0;
  double z = 0;  ///< of how rare it is that an order by chance parts them so well there
};

/// The fewest values on either side of a change of level: one or two are a spike.
inline constexpr std::size_t kShortestLevel = 3;

/// The cut of `values` that would be the rarest in an order by chance; nothing for fewer than 6 values. Its z
/// is the largest of many: change_critical (changepoint.h) is what it is held against.
///
/// Method. Values are centred at their median and drawn in to 3.5 deviations (1.4826 MAD) around it. A cut
/// is as rare as the sum of its shorter part among the sums of as many values drawn from all of them without
/// replacement (permutation_tail_z): that holds for noise of any shape, heavy tails too, as each order of
/// independent values is as likely as another. The normal approximation of such sums does for long parts, but
/// takes the few values after a recent change for far less rare than they are: 5 above 50 others are 1 in
/// 3,478,761 draws, z = 5.0, where the approximation of the ranks' sum says 3.8.
std::optional<LevelShift> rarest_level_shift(std::span<const double> values);

/// Where two levels fit `values` best: a step near `index` is moved to the cut that leaves the least squares,
/// of values that were drawn in to 3.5 deviations around the levels on both sides of `index`.
std::size_t best_step_place(std::span<const double> values, std::size_t index);

}  // namespace headroom
