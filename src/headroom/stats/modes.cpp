// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/modes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "headroom/stats/dip.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kSmallestShare = 0.1;
constexpr std::size_t kSmallestGroup = 3;
/// Medians closer than this share of the lower are one time for all that a user does with it.
constexpr double kSmallestDistance = 0.01;
/// Stretches are what has so few of the changes of a random order, and that beyond chance.
constexpr double kStretchesShare = 0.5;
constexpr double kChanceDeviations = 3;

/// A reading of a coarse clock stands for any time within its grain: equal ones are spread evenly over it, or
/// each would be a mode of its own.
std::vector<double> spread_over_grain(std::span<const double> sorted) {
  double grain = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) grain = std::min(grain, sorted[i] - sorted[i - 1]);
  }
  std::vector<double> spread(sorted.begin(), sorted.end());
  if (!std::isfinite(grain)) return spread;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && sorted[end] == sorted[first]) ++end;
    const double count = static_cast<double>(end - first);
    for (std::size_t i = first; i < end; ++i)
      spread[i] += grain * ((static_cast<double>(i - first) + 0.5) / count - 0.5);
    first = end;
  }
  std::ranges::sort(spread);  // rounding may have swapped neighbours of two readings
  return spread;
}

/// Index of the first value after the gap that parts [begin, end) of `sorted`, if it has more than one mode.
std::optional<std::size_t> cut_of(std::span<const double> sorted, std::size_t begin, std::size_t end) {
  const std::span<const double> part = sorted.subspan(begin, end - begin);
  if (part.empty()) return std::nullopt;
  const Dip dip = dip_of(part);
  if (!(dip.statistic > dip_critical(part.size()))) return std::nullopt;
  const double middle = 0.5 * (part[dip.valley_low] + part[dip.valley_high]);
  const auto first = std::ranges::upper_bound(part.subspan(dip.valley_low), middle);
  const std::size_t cut = begin + static_cast<std::size_t>(first - part.begin());
  return cut > begin && cut < end ? std::optional(cut) : std::nullopt;
}

/// Cuts between groups of at least `smallest` values, ascending. A smaller side is outliers: the other one is
/// looked at without them.
void append_cuts(std::span<const double> sorted, std::size_t begin, std::size_t end, std::size_t smallest,
                 std::vector<std::size_t>& cuts) {
  const std::optional<std::size_t> cut = cut_of(sorted, begin, end);
  if (!cut) return;
  const bool left = *cut - begin >= smallest, right = end - *cut >= smallest;
  if (left) append_cuts(sorted, begin, *cut, smallest, cuts);
  if (left && right) cuts.push_back(*cut);
  if (right) append_cuts(sorted, *cut, end, smallest, cuts);
}

/// Medians of the groups that `cuts` make; cuts between medians too close to each other are taken out.
std::vector<double> distinct_medians(std::span<const double> sorted, std::vector<std::size_t>& cuts) {
  std::vector<double> medians;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : sorted.size();
    const double middle = median(sorted.subspan(begin, end - begin));
    if (!medians.empty() && middle < medians.back() * (1 + kSmallestDistance)) {
      cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i - 1));
      return distinct_medians(sorted, cuts);
    }
    medians.push_back(middle);
    begin = end;
  }
  return medians;
}

/// Changes between groups in a random order of `n` values with so many in each group: mean and variance
/// (those of the number of runs, less one).
struct ChanceChanges {
  double mean = 0, variance = 0;
};

ChanceChanges chance_changes(std::span<const Mode> groups, double n) {
  double squares = 0, cubes = 0;
  for (const Mode& group : groups) {
    const double count = group.share * n;
    squares += count * count;
    cubes += count * count * count;
  }
  return {n - squares / n,
          (squares * (squares + n * (n + 1)) - 2 * n * cubes - n * n * n) / (n * n * (n - 1))};
}

}  // namespace

Modes find_modes(std::span<const double> values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("modes of values that are not finite");
  Modes modes;
  const double n = static_cast<double>(values.size());
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  sorted = spread_over_grain(sorted);
  const auto smallest = std::max(kSmallestGroup, static_cast<std::size_t>(std::ceil(kSmallestShare * n)));
  std::vector<std::size_t> cuts;
  append_cuts(sorted, 0, sorted.size(), smallest, cuts);
  if (cuts.empty()) return modes;
  const std::vector<double> medians = distinct_medians(sorted, cuts);
  if (medians.size() < 2) return modes;

  std::vector<double> bounds;  // between groups
  std::size_t begin = 0;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : sorted.size();
    modes.groups.push_back({medians[i], static_cast<double>(end - begin) / n});
    if (end < sorted.size()) bounds.push_back(0.5 * (sorted[end - 1] + sorted[end]));
    begin = end;
  }
  const auto group_of = [&](double value) { return std::ranges::upper_bound(bounds, value); };
  for (std::size_t i = 1; i < values.size(); ++i)
    modes.changes += group_of(values[i]) != group_of(values[i - 1]) ? 1 : 0;
  const ChanceChanges chance = chance_changes(modes.groups, n);
  const double most = std::min(kStretchesShare * chance.mean,
                               chance.mean - kChanceDeviations * std::sqrt(std::max(0.0, chance.variance)));
  modes.in_stretches = static_cast<double>(modes.changes) < most;
  return modes;
}

}  // namespace headroom
