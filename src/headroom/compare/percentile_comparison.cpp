// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/percentile_comparison.h"

#include <cmath>

#include "headroom/stats/quantile.h"

namespace headroom {

std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile) {
  if (comparison.estimator == Estimator::kNone) return std::nullopt;
  constexpr double kConfidence = 0.95;
  const Series before = steady(*comparison.baseline);
  const Series after = steady(*comparison.test, comparison.test_factor);
  const double p = percentile / 100;
  PercentileComparison result;
  result.percentile = percentile;
  result.baseline = quantile(before.values, p);
  result.test = quantile(after.values, p);
  result.baseline_interval = quantile_interval(before.values, p, kConfidence);
  result.test_interval = quantile_interval(after.values, p, kConfidence);
  result.ratio = result.test / result.baseline;
  // Both at sqrt(.95): then the ratio of the extremes holds at .95 for independent sides.
  const double each = std::sqrt(kConfidence);
  const auto low = quantile_interval(before.values, p, each);
  const auto high = quantile_interval(after.values, p, each);
  if (low && high)
    result.ratio_interval = Interval{high->low / low->high, high->high / low->low, kConfidence};
  return result;
}

}  // namespace headroom
