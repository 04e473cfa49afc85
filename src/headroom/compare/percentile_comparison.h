// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "headroom/compare/comparison.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// One percentile of both sides. The intervals are binomial order-statistic intervals: they take the samples
/// for independent; nothing where a sample is too small for them.
struct PercentileComparison {
  double percentile = 50;
  double baseline = 0, test = 0;  ///< in the comparison's unit
  std::optional<Interval> baseline_interval, test_interval;
  double ratio = 1;  ///< test over baseline
  std::optional<Interval> ratio_interval;
};

/// Nothing for a comparison without samples. `percentile` from 0 to 100.
std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile);

}  // namespace headroom
