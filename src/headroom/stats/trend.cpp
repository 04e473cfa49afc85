// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/trend.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::size_t kShortestTrend = 8;
/// 1.4826 MAD is the standard deviation of normal noise.
constexpr double kDeviationPerMad = 1.4826;
/// And so is this times the distance from the median to the upper decile: larger where noise is skewed, as
/// times are.
constexpr double kDeviationPerUpperDecile = 0.7803;
/// Readings of a coarse clock can have no spread at all; less than this of the level is never a warm-up.
constexpr double kSmallestSpread = 1e-3;
/// A leading value this many spreads above the settled level is no longer noise of the settled series.
constexpr double kSettled = 1.5;

/// So many leading values must all lie so many spreads above the level. One alone may be a spike, whatever
/// its height.
struct Lead {
  std::size_t values;
  double spreads;
};
constexpr std::array<Lead, 4> kLeads = {{{2, 4.5}, {3, 3.5}, {4, 3}, {6, 2.5}}};

}  // namespace

std::size_t warmup_length(std::span<const double> values) {
  if (values.size() < kShortestTrend) return 0;
  const std::size_t half = values.size() / 2;
  const std::span<const double> settled = values.subspan(half);
  const double level = median(settled);
  // The spread of few values is itself uncertain, and neighbours that are alike make it look small.
  const double caution = 1 + 8 / static_cast<double>(settled.size());
  const double noise = std::max(kDeviationPerMad * median_absolute_deviation(settled),
                                kDeviationPerUpperDecile * (quantile(settled, 0.9) - level));
  const double spread = std::max(kSmallestSpread * std::abs(level), caution * noise);
  const auto leading_above = [&](double spreads) {
    const auto first = std::find_if(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                                    [&](double value) { return value <= level + spreads * spread; });
    return static_cast<std::size_t>(first - values.begin());
  };
  const bool falls = std::any_of(kLeads.begin(), kLeads.end(), [&](const Lead& lead) {
    return leading_above(lead.spreads) >= lead.values;
  });
  return falls ? leading_above(kSettled) : 0;
}

}  // namespace headroom
