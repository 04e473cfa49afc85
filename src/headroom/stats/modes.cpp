// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/modes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

struct DipQuantile {
  double count;
  double scaled_dip;  ///< dip times the square root of the count
};

/// Quantile .995 of the dip of uniform values (`bench_modes table`). Constant from 2,000 values on.
constexpr std::array<DipQuantile, 20> kDipQuantiles{{
    {8, 0.505},   {9, 0.518},   {10, 0.527},  {11, 0.532},  {12, 0.537},  {14, 0.547},   {16, 0.553},
    {18, 0.560},  {20, 0.564},  {25, 0.575},  {30, 0.583},  {40, 0.595},  {50, 0.600},   {70, 0.611},
    {100, 0.619}, {150, 0.629}, {200, 0.634}, {300, 0.640}, {500, 0.647}, {2000, 0.660},
}};

/// Value `index` and a height in values.
struct Corner {
  std::size_t index;
  double height;
};

/// Sorted values with the corners of their distribution function, which jumps from i to i + 1 at value i.
class Corners {
 public:
  explicit Corners(std::span<const double> sorted) : sorted_(sorted) {}

  double x(std::size_t index) const { return sorted_[index]; }
  Corner lower(std::size_t index) const { return {index, static_cast<double>(index)}; }
  Corner upper(std::size_t index) const { return {index, static_cast<double>(index) + 1}; }

  /// The height of `a` for a vertical line.
  double line_at(const Corner& a, const Corner& b, std::size_t index) const {
    const double width = x(b.index) - x(a.index);
    if (!(width > 0)) return a.height;
    return a.height + (b.height - a.height) * ((x(index) - x(a.index)) / width);
  }

  std::vector<Corner> convex_minorant(std::size_t low, std::size_t high) const {
    std::vector<Corner> hull;
    for (std::size_t i = low; i <= high; ++i) {
      while (hull.size() > 1 && turn(hull[hull.size() - 2], hull.back(), lower(i)) <= 0) hull.pop_back();
      hull.push_back(lower(i));
    }
    return hull;
  }

  std::vector<Corner> concave_majorant(std::size_t low, std::size_t high) const {
    std::vector<Corner> hull;
    for (std::size_t i = low; i <= high; ++i) {
      while (hull.size() > 1 && turn(hull[hull.size() - 2], hull.back(), upper(i)) >= 0) hull.pop_back();
      hull.push_back(upper(i));
    }
    return hull;
  }

 private:
  /// Positive if the path a, b, c turns left.
  double turn(const Corner& a, const Corner& b, const Corner& c) const {
    return (x(b.index) - x(a.index)) * (c.height - a.height) -
           (x(c.index) - x(a.index)) * (b.height - a.height);
  }

  std::span<const double> sorted_;
};

/// Largest distance of majorant and minorant; the mode is searched next between the vertices around it.
struct Widest {
  double distance = 0;
  std::size_t low = 0, high = 0;
};

Widest widest(const Corners& corners, std::span<const Corner> minorant, std::span<const Corner> majorant) {
  Widest found;
  const auto consider = [&](double distance, std::size_t low, std::size_t high) {
    if (distance > found.distance) found = {distance, low, high};
  };
  // The maximum is at a vertex of one of them.
  std::size_t g = 0, l = 0;
  while (g < minorant.size() || l < majorant.size()) {
    const bool of_minorant =
        l == majorant.size() || (g < minorant.size() && minorant[g].index <= majorant[l].index);
    if (of_minorant) {
      const Corner& vertex = minorant[g++];
      const std::size_t next = std::min(l, majorant.size() - 1), last = next > 0 ? next - 1 : 0;
      consider(corners.line_at(majorant[last], majorant[next], vertex.index) - vertex.height, vertex.index,
               majorant[next].index);
    } else {
      const Corner& vertex = majorant[l++];
      const std::size_t last = g > 0 ? g - 1 : 0, next = std::min(g, minorant.size() - 1);
      consider(vertex.height - corners.line_at(minorant[last], minorant[next], vertex.index),
               minorant[last].index, vertex.index);
    }
  }
  return found;
}

/// In values: twice the statistic.
struct Excess {
  double height = 0;
  std::size_t valley_low = 0, valley_high = 0;
};

/// Finds where the upper corners are furthest above the minorant, before value `end`: a mode ends there; the
/// next dense place begins at the next vertex.
Excess above_minorant(const Corners& corners, std::span<const Corner> minorant, std::size_t end) {
  Excess most;
  for (std::size_t g = 0; g + 1 < minorant.size() && minorant[g + 1].index <= end; ++g) {
    for (std::size_t i = minorant[g].index; i <= minorant[g + 1].index; ++i) {
      const double height = corners.upper(i).height - corners.line_at(minorant[g], minorant[g + 1], i);
      if (height > most.height) most = {height, i, minorant[g + 1].index};
    }
  }
  return most;
}

/// Mirror image of above_minorant, from value `begin` on: a mode begins there.
Excess below_majorant(const Corners& corners, std::span<const Corner> majorant, std::size_t begin) {
  Excess most;
  for (std::size_t l = 0; l + 1 < majorant.size(); ++l) {
    if (majorant[l].index < begin) continue;
    for (std::size_t i = majorant[l].index; i <= majorant[l + 1].index; ++i) {
      const double height = corners.line_at(majorant[l], majorant[l + 1], i) - corners.lower(i).height;
      if (height > most.height) most = {height, majorant[l].index, i};
    }
  }
  return most;
}

constexpr double kMinShare = 0.1;
constexpr std::size_t kMinGroupSize = 3;
/// Smallest distance between medians that users see as two times: share of the lower one.
constexpr double kMinDistance = 0.01;
/// For in_stretches: share of the switches of a random order, and standard deviations below them.
constexpr double kStretchesShare = 0.5;
constexpr double kChanceDeviations = 3;

/// Spreads equal readings of a coarse clock over its grain; else each would be a mode.
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
  // Rounding may swap neighbours.
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);
}

/// First value after the gap between modes; nullopt if unimodal.
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

/// Appends the cuts, ascending. A side with fewer than `smallest` values is outliers; the search goes on
/// without them.
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

void remove_close_cuts(std::span<const double> sorted, std::vector<std::size_t>& cuts) {
  double below = 0;  // of the previous group
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : sorted.size();
    if (begin == end) return;
    const double middle = median_of_sorted(sorted.subspan(begin, end - begin));
    if (i > 0 && middle < below * (1 + kMinDistance)) {
      cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i - 1));
      return remove_close_cuts(sorted, cuts);
    }
    below = middle;
    begin = end;
  }
}

/// Switches between groups, with mean and variance for a random order.
struct Changes {
  std::size_t seen = 0;
  double mean = 0, variance = 0;
};

/// Adds one process. A random order has as many switches as runs less one.
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

bool is_below_chance(const Changes& changes) {
  const double deviations = kChanceDeviations * std::sqrt(std::max(0.0, changes.variance));
  return static_cast<double>(changes.seen) <
         std::min(kStretchesShare * changes.mean, changes.mean - deviations);
}

}  // namespace

Dip dip_of(std::span<const double> sorted) {
  if (sorted.empty()) throw std::invalid_argument("the dip of no values");
  if (!std::ranges::all_of(sorted, [](double value) { return std::isfinite(value); }) ||
      !std::ranges::is_sorted(sorted)) {
    throw std::invalid_argument("the dip of values that are not finite and sorted");
  }
  const Corners corners(sorted);
  std::size_t low = 0, high = sorted.size() - 1;
  Excess most{1, 0, 0};  // minimum for any sample
  while (sorted[low] < sorted[high]) {
    const std::vector<Corner> minorant = corners.convex_minorant(low, high);
    const std::vector<Corner> majorant = corners.concave_majorant(low, high);
    const Widest mode = widest(corners, minorant, majorant);
    if (mode.distance <= most.height) break;
    for (const Excess& side :
         {above_minorant(corners, minorant, mode.low), below_majorant(corners, majorant, mode.high)}) {
      if (side.height > most.height) most = side;
    }
    if (mode.low == low && mode.high == high) break;
    low = mode.low;
    high = mode.high;
  }
  return {most.height / (2 * static_cast<double>(sorted.size())), most.valley_low, most.valley_high};
}

double dip_critical(std::size_t count) {
  if (count < static_cast<std::size_t>(kDipQuantiles.front().count)) return 0.25;
  const double n = static_cast<double>(count);
  const auto above =
      std::ranges::find_if(kDipQuantiles, [n](const DipQuantile& row) { return row.count >= n; });
  if (above == kDipQuantiles.end()) return kDipQuantiles.back().scaled_dip / std::sqrt(n);
  if (above == kDipQuantiles.begin()) return above->scaled_dip / std::sqrt(n);
  const DipQuantile& below = *(above - 1);
  const double share = std::log(n / below.count) / std::log(above->count / below.count);
  return std::lerp(below.scaled_dip, above->scaled_dip, share) / std::sqrt(n);
}

std::vector<double> mode_bounds(std::span<const double> values) {
  return mode_bounds_of([values] { return std::vector<double>(values.begin(), values.end()); });
}

std::vector<double> mode_bounds_of(const std::function<std::vector<double>()>& make) {
  std::vector<double> spread = make();
  if (!std::ranges::all_of(spread, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("modes of values that are not finite");
  std::ranges::sort(spread);
  spread_over_grain(spread);
  const auto smallest = std::max(
      kMinGroupSize, static_cast<std::size_t>(std::ceil(kMinShare * static_cast<double>(spread.size()))));
  std::vector<std::size_t> cuts;
  append_cuts(spread, 0, spread.size(), smallest, cuts);
  if (cuts.empty()) return {};
  std::vector<double> sorted = make();
  std::ranges::sort(sorted);
  std::erase_if(cuts, [&](std::size_t cut) {
    return sorted[cut - 1] == sorted[cut];
  });  // equal readings stay in one group
  remove_close_cuts(spread, cuts);
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
  // One group at a time, to save memory.
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
  modes.in_stretches = is_below_chance(changes);
  return modes;
}

Modes find_modes(std::span<const double> values) {
  return modes_between(values, mode_bounds(values));
}

}  // namespace headroom
