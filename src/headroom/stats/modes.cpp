// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/modes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "headroom/stats/dip.h"
#include "headroom/stats/mode_bounds.h"
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
void spread_over_grain(std::vector<double>& sorted) {
  double grain = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) grain = std::min(grain, sorted[i] - sorted[i - 1]);
  }
  if (!std::isfinite(grain)) return;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && sorted[end] == sorted[first]) ++end;
    const double count = static_cast<double>(end - first);
    for (std::size_t i = first; i < end; ++i)
      sorted[i] += grain * ((static_cast<double>(i - first) + 0.5) / count - 0.5);
    first = end;
  }
  // Rounding may have swapped neighbours of two readings.
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);
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

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t below = (sorted.size() - 1) / 2;
  return sorted.size() % 2 == 1 ? sorted[below] : std::lerp(sorted[below], sorted[below + 1], 0.5);
}

/// Takes out cuts between groups whose medians lie too close to each other.
void take_out_close(std::span<const double> sorted, std::vector<std::size_t>& cuts) {
  double below = 0;  // the median of the group before
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : sorted.size();
    if (begin == end) return;  // no values at all
    const double middle = median_of_sorted(sorted.subspan(begin, end - begin));
    if (i > 0 && middle < below * (1 + kSmallestDistance)) {
      cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i - 1));
      return take_out_close(sorted, cuts);
    }
    below = middle;
    begin = end;
  }
}

/// Changes between groups: those seen, and mean and variance of those of a random order.
struct Changes {
  std::size_t seen = 0;
  double mean = 0, variance = 0;
};

/// Adds those of one process. In a random order there are as many as there are runs, less one.
void add_changes(std::span<const double> values, std::span<const double> bounds, Changes& changes) {
  if (values.size() < 2) return;
  std::vector<double> counts(bounds.size() + 1);
  std::size_t last = mode_of(values.front(), bounds);
  for (const double value : values) {
    const std::size_t place = mode_of(value, bounds);
    ++counts[place];
    changes.seen += place != last ? 1 : 0;
    last = place;
  }
  const double n = static_cast<double>(values.size());
  double squares = 0, cubes = 0;
  for (const double count : counts) {
    squares += count * count;
    cubes += count * count * count;
  }
  changes.mean += n - squares / n;
  changes.variance += (squares * (squares + n * (n + 1)) - 2 * n * cubes - n * n * n) / (n * n * (n - 1));
}

bool fewer_than_by_chance(const Changes& changes) {
  const double deviations = kChanceDeviations * std::sqrt(std::max(0.0, changes.variance));
  return static_cast<double>(changes.seen) <
         std::min(kStretchesShare * changes.mean, changes.mean - deviations);
}

}  // namespace

std::vector<double> mode_bounds(std::span<const double> values) {
  return mode_bounds_of([values] { return std::vector<double>(values.begin(), values.end()); });
}

std::vector<double> mode_bounds_of(const std::function<std::vector<double>()>& make) {
  std::vector<double> spread = make();
  if (!std::ranges::all_of(spread, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("modes of values that are not finite");
  std::ranges::sort(spread);
  spread_over_grain(spread);
  const auto smallest =
      std::max(kSmallestGroup,
               static_cast<std::size_t>(std::ceil(kSmallestShare * static_cast<double>(spread.size()))));
  std::vector<std::size_t> cuts;
  append_cuts(spread, 0, spread.size(), smallest, cuts);
  if (cuts.empty()) return {};
  std::vector<double> sorted = make();
  std::ranges::sort(sorted);
  std::erase_if(
      cuts, [&](std::size_t cut) { return sorted[cut - 1] == sorted[cut]; });  // no two groups of one reading
  take_out_close(spread, cuts);
  std::vector<double> bounds;
  for (const std::size_t cut : cuts) bounds.push_back(0.5 * (sorted[cut - 1] + sorted[cut]));
  return bounds;
}

std::size_t mode_of(double value, std::span<const double> bounds) {
  return static_cast<std::size_t>(std::ranges::upper_bound(bounds, value) - bounds.begin());
}

Modes modes_between(std::span<const double> values, std::span<const double> bounds,
                    std::span<const std::size_t> group_sizes) {
  Modes modes;
  if (bounds.empty()) return modes;
  const double n = static_cast<double>(values.size());
  // One group after the other: of very many values the copies are what takes the memory.
  for (std::size_t place = 0; place <= bounds.size(); ++place) {
    const auto is_here = [&](double value) { return mode_of(value, bounds) == place; };
    std::vector<double> group;
    group.reserve(static_cast<std::size_t>(std::ranges::count_if(values, is_here)));
    std::ranges::copy_if(values, std::back_inserter(group), is_here);
    modes.groups.push_back({quantile_in_place(group, 0.5), static_cast<double>(group.size()) / n});
  }
  const std::size_t whole[] = {values.size()};
  Changes changes;
  std::size_t start = 0;
  for (const std::size_t size : group_sizes.empty() ? std::span<const std::size_t>(whole) : group_sizes) {
    add_changes(values.subspan(start, size), bounds, changes);
    start += size;
  }
  modes.changes = changes.seen;
  modes.in_stretches = fewer_than_by_chance(changes);
  return modes;
}

Modes find_modes(std::span<const double> values) {
  return modes_between(values, mode_bounds(values));
}

}  // namespace headroom
