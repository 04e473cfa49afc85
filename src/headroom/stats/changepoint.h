// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// Returns how rare it is that `count` of `scores`, drawn without replacement, add up to `sum` or more, as
/// the z of a standard normal variable with that probability: Phi(-z). 0 < count < scores.size(). `scores`:
/// descending, mean 0, not all equal.
///
/// Method. Double saddlepoint approximation for finite populations (Robinson 1982; tail in the form r* of
/// Barndorff-Nielsen): each score is drawn with probability p_i = 1/(1 + exp(-(t a_i + u))), with t and u
/// such that `count` scores and `sum` are expected. w^2 / 2 is the loss of entropy: that of count/n less
/// those of p_i. Half a step of the sum is subtracted as continuity correction. Against exact counting of
/// bounded scores (tests/unit/stats): z within 0.15 for 5 of 20 up to 8 of 58 scores, 0.25 for 3 of 20, down
/// to sums with a single draw.
double permutation_tail_z(std::span<const double> scores, std::size_t count, double sum);

/// A level shift: values from `index` on lie higher, or lower, than those before.
struct LevelShift {
  std::size_t index = 0;
  double z = 0;  ///< z of the probability that a random order separates them as well
};

/// Fewest values on either side of a change of level: one or two are a spike.
inline constexpr std::size_t kShortestLevel = 3;

/// The cut of `values` that is least likely in a random order; nullopt for fewer than 6 values. Compare its
/// z, the largest of many, with change_critical.
///
/// Method. Values are centred at their median and clipped to 3.5 deviations (1.4826 MAD). A cut is as rare as
/// the sum of its shorter part among sums of as many values drawn without replacement (permutation_tail_z).
/// That holds for any noise, heavy tails included, since all orders of independent values are equally likely.
/// A normal approximation suffices for long parts, but underestimates the rarity of a few values after a
/// recent change: 5 above 50 others are 1 in 3,478,761 draws, z = 5.0, where the approximation by ranks gives
/// 3.8.
std::optional<LevelShift> rarest_level_shift(std::span<const double> values);

/// Moves a step near `index` to the cut with the least squares, of values clipped to 3.5 deviations around
/// the levels on both sides of `index`.
std::size_t best_step_place(std::span<const double> values, std::size_t index);

/// A rank excursion: the values in [begin, end) lie higher, or lower, than those around them.
struct RankExcursion {
  std::size_t begin = 0, end = 0;
  double z = 0;  ///< negative if lower; not corrected for autocorrelation
};

/// The largest z = |R - k(n+1)/2| / sqrt(k(n-k)(n+1)/12), where R is the sum of the ranks of k consecutive
/// values, with at least three values before, between and behind the cuts; z = 0 for fewer than 9 values.
RankExcursion largest_rank_excursion(std::span<const double> values);

/// The value that the largest z of `count` independent values exceeds in one of 1,000 orders; simulated, as
/// change_critical. Nullopt for fewer than 14 values.
std::optional<double> rank_excursion_critical(std::size_t count);

/// A change of level: `index` is the first value after it.
struct ChangePoint {
  std::size_t index = 0;
  double z = 0;  ///< of the rarest shift, corrected for autocorrelation
};

/// Finds the changes of level in `values` (in order of time), in ascending order. About four of 1,000 steady
/// series get a false change; none for fewer than 14 values.
///
/// Method. The z of the least likely cut (rarest_level_shift) is compared with its quantile for series
/// without a change, which depends on their length alone (change_critical). If significant, the series is cut
/// where two levels fit best (best_step_place), and both parts are searched again; finally each cut is moved
/// to the best place between its neighbours and kept only if still significant. A level that returns hides
/// from a single cut; so without a significant cut, the values between two cuts are compared with all others
/// (largest_rank_excursion).
///
/// Autocorrelation inflates z: it is multiplied by sqrt((1 - rho)/(1 + rho)), where rho is the lag-1 rank
/// correlation within the two parts, so that the change itself does not count as correlation.
/// bench/changepoints.cpp measures error rate and delay.
std::vector<ChangePoint> change_points(std::span<const double> values);

/// A change after the last one in `changes` (from change_points) at the looser level kSuspected: too early to
/// report, but a reason to measure again.
std::optional<ChangePoint> suspected_change(std::span<const double> values,
                                            std::span<const ChangePoint> changes);

/// False positive rate of a series without a change.
enum class ChangeLevel {
  kSuspected,  ///< 1 in 100
  kCertain,    ///< 3 in 1,000
};

/// The value that the z of the rarest shift of `count` independent values exceeds with the probability of
/// `level`; simulated on a grid of counts, linear in ln(count) in between. Nullopt for fewer than 14 values.
std::optional<double> change_critical(std::size_t count, ChangeLevel level);

/// A part of a series between two changes: a level or a line.
struct SeriesPart {
  std::size_t begin = 0, end = 0;  ///< `end`: first value after it
  double level = 0;                ///< the median
  bool drifts = false;
  double first = 0, last = 0;  ///< ends of the line if it drifts, else the level

  double at(std::size_t index) const;
};

/// Returns the parts between `changes` (in ascending order), at least one for a non-empty series.
///
/// A slow drift looks like one or several steps: neighbouring steps in one direction become one drifting part
/// if a line leaves less residue than the levels (sums of absolute distances, corrected for the number of
/// parameters). A part without a step drifts if the z of Mann and Kendall's test, corrected for
/// autocorrelation around the line (as in change_points), exceeds 3.7. The line is that of Theil and Sen: the
/// median of the slopes between pairs of values.
std::vector<SeriesPart> series_parts(std::span<const double> values, std::span<const ChangePoint> changes);

/// The same without changes smaller than `least` of the level before them (a share: 0.02). Removes the
/// smallest first and measures its neighbours again.
std::vector<SeriesPart> parts_that_differ(std::span<const double> values,
                                          std::span<const ChangePoint> changes, double least);

/// A change of spread: from `index` on values scatter more, or less, than before.
struct SpreadChange {
  std::size_t index = 0;
  double ratio = 1;  ///< of the median distances from the level, after to before
};

/// Finds changes of the spread of `values` around their `parts`: change_points of the distances from level or
/// line, relative to the level unless it is 0. Excludes parts with fewer than 8 values, whose level is too
/// close to them. Measured by bench/changepoints.cpp.
std::vector<SpreadChange> spread_changes(std::span<const double> values, std::span<const SeriesPart> parts);

/// y = intercept + slope * x.
struct LineFit {
  double intercept = 0, slope = 0;
  double worst_error = 0;  ///< the largest |line - y| / y
};

/// Fits a line by least squares of the relative errors (line - y) / y: for a cost by size over several orders
/// of magnitude, where plain least squares would fit only the largest. All y must be above 0; one y per x.
/// Nullopt for fewer than two distinct x.
std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace headroom
