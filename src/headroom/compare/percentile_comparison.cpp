// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/percentile_comparison.h"

#include <algorithm>
#include <cmath>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// One side, in logarithms.
struct LogSide {
  double quantile = 0;
  std::optional<Interval> interval;
};

LogSide log_side(const Series& series, double p, double confidence) {
  std::vector<double> logs;
  for (const double value : series.values) logs.push_back(std::log(value));
  LogSide side{quantile(logs, p), std::nullopt};
  if (p > 0 && p < 1) side.interval = series_quantile_interval(logs, p, series.group_sizes, confidence);
  return side;
}

std::optional<Interval> back(const std::optional<Interval>& logs) {
  if (!logs) return std::nullopt;
  return Interval{std::exp(logs->low), std::exp(logs->high), logs->confidence};
}

/// Recovers the variances of both sides (see unpaired_series_ratio), and widens the interval by the
/// run-to-run spread.
std::optional<Interval> ratio_interval(const Comparison& comparison, const LogSide& before,
                                       const LogSide& after, double confidence) {
  if (!before.interval || !after.interval) return std::nullopt;
  const double difference = after.quantile - before.quantile;
  double down = std::hypot(after.quantile - after.interval->low, before.interval->high - before.quantile);
  double up = std::hypot(after.interval->high - after.quantile, before.quantile - before.interval->low);
  if (comparison.value_spread) {
    const double runs = run_half_width(*comparison.value_spread, runs_of(*comparison.baseline).size(),
                                       runs_of(*comparison.test).size(), confidence);
    down = std::max(down, runs);
    up = std::max(up, runs);
  }
  return Interval{std::exp(difference - down), std::exp(difference + up), confidence};
}

/// Whether its percentiles have intervals that hold from run to run.
bool allows_for_runs(const Comparison& comparison) {
  return comparison.estimator == Estimator::kPaired || comparison.value_spread;
}

}  // namespace

std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence) {
  if (comparison.estimator == Estimator::kNone) return std::nullopt;
  const double p = percentile / 100;
  const Series before = steady(*comparison.baseline),
               after = steady(*comparison.test, comparison.test_factor);
  const LogSide baseline = log_side(before, p, confidence), test = log_side(after, p, confidence);
  PercentileComparison result;
  result.percentile = percentile;
  result.baseline = quantile(before.values, p);
  result.test = quantile(after.values, p);
  result.baseline_interval = back(baseline.interval);
  result.test_interval = back(test.interval);
  result.ratio = result.test / result.baseline;
  result.ratio_interval = ratio_interval(comparison, baseline, test, confidence);
  return result;
}

void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins, double alpha) {
  const auto judged = std::ranges::count_if(
      comparisons, [](const Comparison& comparison) { return comparison.estimator != Estimator::kNone; });
  const double looks =
      static_cast<double>(std::max<std::size_t>(1, static_cast<std::size_t>(judged) * margins.size()));
  for (Comparison& comparison : comparisons) {
    comparison.tails.clear();
    for (const TailMargin& margin : margins) {
      const auto shown = compare_percentile(comparison, margin.percentile, kRatioConfidence);
      if (!shown) continue;
      const auto strict = compare_percentile(comparison, margin.percentile, 1 - 2 * alpha / looks);
      comparison.tails.push_back(
          {margin, shown->ratio, shown->ratio_interval,
           tail_verdict(comparison, margin.margin, shown->ratio_interval, strict->ratio_interval)});
    }
  }
}

Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict) {
  if (!shown) return Verdict::kUnderpowered;
  if (!comparison.doubts.empty() || !allows_for_runs(comparison)) return Verdict::kInconclusive;
  const auto worse = [&](const Interval& interval) {
    return worsening({1, interval, 0}, comparison.baseline->metric.direction).interval.value();
  };
  if (strict && worse(*strict).low > 1 + margin) return Verdict::kRegression;
  if (strict && worse(*strict).high < 1 - margin) return Verdict::kImprovement;
  const Interval inside = worse(*shown);
  return inside.high <= 1 + margin && inside.low >= 1 - margin ? Verdict::kSame : Verdict::kInconclusive;
}

std::vector<DecileShift> shift_function(const Comparison& comparison) {
  constexpr int kDeciles = 9;
  constexpr double kEach = 1 - (1 - kRatioConfidence) / kDeciles;
  std::vector<DecileShift> shifts;
  for (int decile = 1; decile <= kDeciles; ++decile) {
    const auto found = compare_percentile(comparison, 10.0 * decile, kEach);
    if (!found) return {};
    const auto& interval = found->ratio_interval;
    shifts.push_back({*found, tail_verdict(comparison, comparison.margin, interval, interval)});
  }
  return shifts;
}

}  // namespace headroom
