// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/level_shift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "headroom/stats/permutation_tail.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Of the sum of a part's scores as the normal approximation has it: below this a cut is not looked at
/// closer, it is far from every critical value.
constexpr double kWorthALook = 2.2;
/// From so many values in the shorter part on, the normal approximation is good to 0.05.
constexpr std::size_t kLongPart = 40;
/// 1.4826 MAD is the standard deviation of normal noise.
constexpr double kDeviationPerMad = 1.4826;
/// In deviations: values further out than this count as so far.
constexpr double kReach = 3.5;

/// How far each value lies from the median, in what is the standard deviation of normal noise.
std::vector<double> deviations_from_median(std::span<const double> values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("a change of a value that is not finite");
  const double centre = median(values);
  std::vector<double> deviations(values.begin(), values.end());
  double distances = 0;
  for (double& value : deviations) {
    value -= centre;
    distances += std::abs(value);
  }
  const double mad = median_absolute_deviation(values);
  // Most of the values are equal where that is 0.
  const double unit = mad > 0 ? kDeviationPerMad * mad : distances / static_cast<double>(values.size());
  if (unit > 0) {
    for (double& value : deviations) value /= unit;
  }
  return deviations;
}

/// Spikes and long tails count as far out, and not by how far. Their mean is 0.
std::vector<double> bounded_scores(std::span<const double> deviations) {
  std::vector<double> scores;
  for (const double deviation : deviations) scores.push_back(std::clamp(deviation, -kReach, kReach));
  const double centre = mean(scores);
  for (double& score : scores) score -= centre;
  return scores;
}

std::vector<double> descending(std::span<const double> scores, double sign) {
  std::vector<double> ordered;
  for (const double score : scores) ordered.push_back(sign * score);
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  return ordered;
}

double clamped_around(double value, double a, double b, double reach) {
  return std::clamp(value, std::min(a, b) - reach, std::max(a, b) + reach);
}

/// How many of the one or two values of a part that lie furthest out, on the side of `sign`, are far beyond
/// the next one: further than that is from the median. Levels have no such gaps, spikes among ordinary values
/// do.
std::size_t spikes_of(std::span<const double> part_deviations, double sign) {
  constexpr double kGap = 2.5;  // deviations
  std::vector<double> largest;
  for (const double deviation : part_deviations) largest.push_back(sign * deviation);
  std::partial_sort(largest.begin(), largest.begin() + 3, largest.end(), std::greater<>());
  const auto gap_above = [&](std::size_t i) {
    return largest[i - 1] - largest[i] > std::max(kGap, largest[i]);
  };
  if (gap_above(2)) return 2;
  return gap_above(1) ? 1 : 0;
}

/// Whether a part still lies apart from all the others when its `spikes` values furthest out are left aside.
/// `ordered` are all scores in descending order, times `sign`.
bool apart_without(std::size_t spikes, std::span<const double> ordered, std::span<const double> part,
                   double sign) {
  constexpr double kStillApart = 4;  // as rare as a change has to be
  std::vector<double> own;
  for (const double score : part) own.push_back(sign * score);
  std::sort(own.begin(), own.end(), std::greater<>());
  std::vector<double> others(ordered.begin(), ordered.end());
  for (std::size_t i = 0; i < spikes; ++i) others.erase(std::ranges::find(others, own[i]));
  const double centre = mean(others);
  double sum = 0;
  for (std::size_t i = spikes; i < own.size(); ++i) sum += own[i] - centre;
  for (double& score : others) score -= centre;
  if (sum <= 0 || others.front() <= others.back()) return false;
  return permutation_tail_z(others, own.size() - spikes, sum) > kStillApart;
}

}  // namespace

std::optional<LevelShift> rarest_level_shift(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 2 * kShortestLevel) return std::nullopt;
  const std::vector<double> deviations = deviations_from_median(values);
  const std::vector<double> scores = bounded_scores(deviations);
  const std::vector<double> high = descending(scores, 1), low = descending(scores, -1);
  const double n = static_cast<double>(count);
  double squares = 0;
  for (const double score : scores) squares += score * score;
  LevelShift best{kShortestLevel, 0};
  if (squares <= 0) return best;  // all are equal
  double sum = 0;
  for (std::size_t i = 0; i + kShortestLevel < count; ++i) {
    sum += scores[i];
    const std::size_t before = i + 1;
    if (before < kShortestLevel) continue;
    const std::size_t part = std::min(before, count - before);
    const double t = static_cast<double>(before);
    double z = std::abs(sum) / std::sqrt(t * (n - t) / n * squares / (n - 1));
    if (z > kWorthALook && part < kLongPart) {
      const double sign = (sum > 0) == (part == before) ? 1 : -1;
      const std::size_t first = part == before ? 0 : before;
      const std::vector<double>& ordered = sign > 0 ? high : low;
      z = permutation_tail_z(ordered, part, std::abs(sum));
      const std::size_t spikes = spikes_of(std::span(deviations).subspan(first, part), sign);
      if (z > best.z && spikes > 0 &&
          !apart_without(spikes, ordered, std::span(scores).subspan(first, part), sign))
        continue;
    }
    if (z > best.z) best = {before, z};
  }
  return best;
}

std::size_t best_step_place(std::span<const double> values, std::size_t index) {
  const std::size_t count = values.size();
  const double before = median(values.first(index)), after = median(values.subspan(index));
  std::vector<double> residuals(count);
  for (std::size_t i = 0; i < count; ++i) residuals[i] = std::abs(values[i] - (i < index ? before : after));
  const double reach = kReach * kDeviationPerMad * median(residuals);
  std::vector<double> sums(count + 1);
  for (std::size_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + clamped_around(values[i], before, after, reach) - before;
  const double n = static_cast<double>(count), mean_of_all = sums.back() / n;
  std::size_t best = index;
  double best_explained = -1;
  for (std::size_t cut = kShortestLevel; cut + kShortestLevel <= count; ++cut) {
    const double t = static_cast<double>(cut), away = sums[cut] - t * mean_of_all;
    const double explained = away * away / (t * (n - t));
    if (explained > best_explained) {
      best = cut;
      best_explained = explained;
    }
  }
  return best;
}

}  // namespace headroom
