// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// Returns the z with Phi(-z) equal to the probability that `count` of `scores`, drawn without replacement,
/// add up to `sum` or more. 0 < count < scores.size(). `scores`: descending, mean 0, not all equal.
///
/// Method: double saddlepoint approximation for finite populations (Robinson 1982; tail in the form r* of
/// Barndorff-Nielsen) with draw probabilities 1/(1 + exp(-(t a_i + u))); half a step of the sum is the
/// continuity correction. z is within 0.15 of exact counts (tests/unit/stats) for 5 of 20 up to 8 of 58
/// scores, within 0.25 for 3 of 20.
double permutation_tail_z(std::span<const double> scores, std::size_t count, double sum);

struct LevelShift {
  std::size_t index = 0;
  double z = 0;  ///< of the probability that a random order separates them as well
};

/// On either side of a change; one or two are a spike.
inline constexpr std::size_t kMinLevelLength = 3;

/// Returns the cut of `values` least likely in a random order; nullopt for fewer than 6 values. Compare its
/// z, a maximum over all cuts, with change_critical.
///
/// Method: values are centred at their median and clipped to 3.5 deviations (1.4826 MAD); the rarity of a cut
/// is that of the sum of its shorter part (permutation_tail_z). Valid for any independent noise. A normal
/// approximation would miss recent changes: 5 above 50 others are 1 in 3,478,761 draws, z = 5.0; by ranks
/// 3.8.
std::optional<LevelShift> rarest_level_shift(std::span<const double> values);

/// Moves a step near `index` to the least-squares cut; values are clipped to 3.5 deviations around both
/// levels.
std::size_t best_step_index(std::span<const double> values, std::size_t index);

struct RankExcursion {
  std::size_t begin = 0, end = 0;
  double z = 0;  ///< not corrected for autocorrelation
};

/// Returns the largest z = |R - k(n+1)/2| / sqrt(k(n-k)(n+1)/12), where R is the sum of the ranks of k
/// consecutive values, with at least three values before, between and after the cuts; 0 for fewer than 9.
RankExcursion largest_rank_excursion(std::span<const double> values);

/// Returns the z that the largest excursion of `count` independent values exceeds in one of 1,000 orders
/// (simulated). Nullopt for fewer than 14.
std::optional<double> rank_excursion_critical(std::size_t count);

/// `index` is the first value after the change.
struct ChangePoint {
  std::size_t index = 0;
  double z = 0;  ///< corrected for autocorrelation
};

/// Returns the changes of level in `values` (in order of time), ascending. Differences below kRounding do not
/// count. About four of 1,000 steady series get a false change; fewer than 14 values get none.
///
/// Method: a cut is significant if its z (rarest_level_shift) exceeds change_critical. The series is cut
/// where two levels fit best, and both parts are searched again; finally each cut is moved to the best place
/// between its neighbours and kept if still significant. largest_rank_excursion finds a level that returns,
/// which a single cut does not show.
///
/// Autocorrelation inflates z, so z is multiplied by sqrt((1 - rho)/(1 + rho)), with the lag-1 rank
/// correlation rho within the two parts. bench/changepoints.cpp measures error rate and delay.
std::vector<ChangePoint> change_points(std::span<const double> values);

/// Returns a change after the last of `changes` at the level kSuspected: a reason to measure again, not to
/// report.
std::optional<ChangePoint> suspected_change(std::span<const double> values,
                                            std::span<const ChangePoint> changes);

/// False positive rate.
enum class ChangeLevel {
  kSuspected,  ///< 1 in 100
  kCertain,    ///< 3 in 1,000
};

/// Returns the z that the rarest shift of `count` independent values exceeds with the probability of `level`.
/// Simulated; linear in ln(count) between the simulated counts. Nullopt for fewer than 14 values.
std::optional<double> change_critical(std::size_t count, ChangeLevel level);

struct SeriesPart {
  std::size_t begin = 0, end = 0;
  double level = 0;  ///< median
  bool drifts = false;
  double first = 0, last = 0;  ///< ends of the line if it drifts, else the level

  double at(std::size_t index) const;
};

/// Returns the parts between `changes` (ascending), at least one for a non-empty series.
///
/// Neighbouring steps in one direction become one drifting part if a line leaves smaller residuals than the
/// levels (sums of absolute distances, corrected for the number of parameters). A part without a step drifts
/// if the z of the Mann-Kendall test, corrected for autocorrelation around the line, exceeds 3.7. The line is
/// the Theil-Sen line: the median of the pairs' slopes.
std::vector<SeriesPart> series_parts(std::span<const double> values, std::span<const ChangePoint> changes);

/// Drops changes smaller than `least`, a share (0.02) of the level before them, smallest first, and
/// measures their neighbours again.
std::vector<SeriesPart> differing_parts(std::span<const double> values, std::span<const ChangePoint> changes,
                                        double least);

struct SpreadChange {
  std::size_t index = 0;
  double ratio = 1;  ///< median distance from the level, after over before
};

/// Returns the changes of the spread of `values` around their `parts`: change_points of the distances from
/// level or line, relative to the level unless it is 0. Skips parts with fewer than 8 values, whose level
/// fits them too closely.
std::vector<SpreadChange> spread_changes(std::span<const double> values, std::span<const SeriesPart> parts);

struct LineFit {
  double intercept = 0, slope = 0;
  double worst_error = 0;  ///< max of |line - y| / y
};

/// Least squares of the relative errors (line - y) / y. Throws std::invalid_argument unless all y are above
/// 0 and there is one y per x. Nullopt for fewer than two distinct x.
std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace headroom
