// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/walsh_averages.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// What lies at or below a bound.
struct Below {
  double count = 0;
  double largest = 0;  ///< of these; the smallest of all where there are none
};

Below at_or_below(std::span<const double> sorted, double bound) {
  Below below{0, sorted.front()};
  // As the first of the two grows, so many fewer can be the second.
  std::size_t end = sorted.size();
  for (std::size_t first = 0; first < sorted.size(); ++first) {
    while (end > first && 0.5 * (sorted[first] + sorted[end - 1]) > bound) --end;
    if (end <= first) break;
    below.count += static_cast<double>(end - first);
    below.largest = std::max(below.largest, 0.5 * (sorted[first] + sorted[end - 1]));
  }
  return below;
}

/// At a whole rank.
double exact_walsh_average(std::span<const double> sorted, double rank) {
  constexpr int kHalvings = 60;
  double low = sorted.front(), high = sorted.back();
  if (at_or_below(sorted, low).count >= rank) return low;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    const Below below = at_or_below(sorted, middle);
    if (below.count == rank) return below.largest;
    (below.count >= rank ? high : low) = middle;
  }
  return at_or_below(sorted, high).largest;
}

}  // namespace

double walsh_count(std::size_t count) {
  return 0.5 * static_cast<double>(count) * static_cast<double>(count + 1);
}

double walsh_average(std::span<const double> sorted, double rank) {
  rank = std::clamp(rank, 1.0, walsh_count(sorted.size()));
  const double whole = std::floor(rank);
  const double below = exact_walsh_average(sorted, whole);
  if (whole == rank) return below;
  return std::lerp(below, exact_walsh_average(sorted, whole + 1), rank - whole);
}

}  // namespace headroom
