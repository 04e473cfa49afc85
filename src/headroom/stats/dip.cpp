// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/dip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

struct DipQuantile {
  double count;
  double scaled_dip;  ///< times the square root of the count
};

/// Made by `bench_modes table`: quantile .995 of the dip of uniform values. From 2,000 on it is what it is in
/// the limit.
constexpr std::array<DipQuantile, 20> kDipQuantiles{{
    {8, 0.505},   {9, 0.518},   {10, 0.527},  {11, 0.532},  {12, 0.537},  {14, 0.547},   {16, 0.553},
    {18, 0.560},  {20, 0.564},  {25, 0.575},  {30, 0.583},  {40, 0.595},  {50, 0.600},   {70, 0.611},
    {100, 0.619}, {150, 0.629}, {200, 0.634}, {300, 0.640}, {500, 0.647}, {2000, 0.660},
}};

/// Point `index` of the values and a height in values: a corner of the distribution function.
struct Corner {
  std::size_t index;
  double height;
};

/// The values with the corners of their distribution function: it jumps at value i from i to i + 1.
class Corners {
 public:
  explicit Corners(std::span<const double> sorted) : sorted_(sorted) {}

  double x(std::size_t index) const { return sorted_[index]; }
  Corner lower(std::size_t index) const { return {index, static_cast<double>(index)}; }
  Corner upper(std::size_t index) const { return {index, static_cast<double>(index) + 1}; }

  /// Height at value `index` of the line through `a` and `b`; of a vertical one, that of `a`.
  double line_at(const Corner& a, const Corner& b, std::size_t index) const {
    const double width = x(b.index) - x(a.index);
    if (!(width > 0)) return a.height;
    return a.height + (b.height - a.height) * ((x(index) - x(a.index)) / width);
  }

  /// Vertices of the greatest convex minorant of the lower corners of [low, high].
  std::vector<Corner> convex_minorant(std::size_t low, std::size_t high) const {
    std::vector<Corner> hull;
    for (std::size_t i = low; i <= high; ++i) {
      while (hull.size() > 1 && turn(hull[hull.size() - 2], hull.back(), lower(i)) <= 0) hull.pop_back();
      hull.push_back(lower(i));
    }
    return hull;
  }

  /// Vertices of the least concave majorant of the upper corners of [low, high].
  std::vector<Corner> concave_majorant(std::size_t low, std::size_t high) const {
    std::vector<Corner> hull;
    for (std::size_t i = low; i <= high; ++i) {
      while (hull.size() > 1 && turn(hull[hull.size() - 2], hull.back(), upper(i)) >= 0) hull.pop_back();
      hull.push_back(upper(i));
    }
    return hull;
  }

 private:
  /// Positive where the way over a, b, c turns left.
  double turn(const Corner& a, const Corner& b, const Corner& c) const {
    return (x(b.index) - x(a.index)) * (c.height - a.height) -
           (x(c.index) - x(a.index)) * (b.height - a.height);
  }

  std::span<const double> sorted_;
};

/// Where majorant and minorant lie furthest apart: by how much, and the vertex of the minorant at or before
/// that place and the vertex of the majorant at or after it, between which the mode is looked for next.
struct Widest {
  double distance = 0;
  std::size_t low = 0, high = 0;
};

Widest widest(const Corners& corners, std::span<const Corner> minorant, std::span<const Corner> majorant) {
  Widest found;
  const auto consider = [&](double distance, std::size_t low, std::size_t high) {
    if (distance > found.distance) found = {distance, low, high};
  };
  // The distance is largest at a vertex of one of them. `g` and `l` are the last vertices at or before it.
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

/// A dip in values, twice as large as the statistic.
struct Excess {
  double height = 0;
  std::size_t valley_low = 0, valley_high = 0;
};

/// Where the upper corners lie furthest above the minorant up to value `end`: a mode ends there, and the next
/// dense place begins at the next vertex.
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

/// Where the lower corners lie furthest below the majorant from value `begin` on: a mode begins there.
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

}  // namespace

Dip dip_of(std::span<const double> sorted) {
  if (sorted.empty()) throw std::invalid_argument("the dip of no values");
  if (!std::ranges::all_of(sorted, [](double value) { return std::isfinite(value); }) ||
      !std::ranges::is_sorted(sorted)) {
    throw std::invalid_argument("the dip of values that are not finite and sorted");
  }
  const Corners corners(sorted);
  std::size_t low = 0, high = sorted.size() - 1;
  Excess most{1, 0, 0};  // a single value is that far from any continuous distribution
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

}  // namespace headroom
