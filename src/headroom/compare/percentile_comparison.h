// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// One percentile of both sides, with its series_quantile_interval; no interval if the sample is too small.
struct PercentileComparison {
  double percentile = 50;
  double baseline = 0, test = 0;  ///< in the comparison's unit
  std::optional<Interval> baseline_interval, test_interval;
  double ratio = 1;  ///< test over baseline
  std::optional<Interval> ratio_interval;
};

/// Returns nothing for a comparison without samples. `percentile` is from 0 to 100.
std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence = 0.95);

/// Judges each percentile of each comparison with samples: a longer tail is a regression even if the median
/// stays. Claims are tested at alpha over the number of percentiles (Bonferroni).
void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins,
                 double alpha = 0.05);

/// Returns the verdict on a ratio of percentiles from its interval at 95 % (`shown`) and at the confidence of
/// claims (`strict`).
Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict);

/// One point of a shift function.
struct DecileShift {
  PercentileComparison decile;
  Verdict verdict = Verdict::kNotCompared;  ///< against the comparison's margin
};

/// Returns the shift function: each decile from 10 to 90 % against the baseline's. The nine intervals hold
/// jointly at 95 % (Bonferroni). Empty for a comparison without samples. SIM (1,000 repetitions each;
/// lognormal, AR(1) with rho 0 and .5, 60 to 300 values of one or three processes a side, no difference): at
/// most 2.0 % of tables have an interval without 1. Source: Doksum, Empirical probability plots and
/// statistical inference for nonlinear models in the two-sample case, 1974.
std::vector<DecileShift> shift_function(const Comparison& comparison);

}  // namespace headroom
