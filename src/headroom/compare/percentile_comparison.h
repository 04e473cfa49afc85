// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// One percentile of both sides, with series_quantile_interval of each; nothing where a sample is too small
/// for one.
struct PercentileComparison {
  double percentile = 50;
  double baseline = 0, test = 0;  ///< in the comparison's unit
  std::optional<Interval> baseline_interval, test_interval;
  double ratio = 1;  ///< test over baseline
  std::optional<Interval> ratio_interval;
};

/// Nothing for a comparison without samples. `percentile` from 0 to 100.
std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence = 0.95);

/// Gives each comparison with samples a verdict on each of these percentiles: a tail that grew while the
/// median stayed is a regression. Claims are held at alpha over the number of percentiles looked at
/// (Bonferroni).
void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins,
                 double alpha = 0.05);

/// What may be said of a ratio of percentiles: `shown` at 95 %, `strict` at the confidence that claims are
/// held at.
Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict);

/// One point of a shift function.
struct DecileShift {
  PercentileComparison decile;
  Verdict verdict = Verdict::kNotCompared;  ///< against the margin of the comparison
};

/// The shift function: how each of the deciles from 10 to 90 % stands to the same of the baseline. All nine
/// intervals hold together at 95 % (Bonferroni). Empty for a comparison without samples. SIM (1,000
/// repetitions each; lognormal, AR(1) with rho 0 and .5, 60 to 300 values of one process or three on each
/// side, nothing differs): an interval that leaves out 1 in at most 2.0 % of tables. Source: Doksum,
/// Empirical probability plots and statistical inference for nonlinear models in the two-sample case, 1974.
std::vector<DecileShift> shift_function(const Comparison& comparison);

}  // namespace headroom
