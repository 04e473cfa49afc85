// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/round_verdict.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "headroom/compare/paired_series.h"
#include "headroom/stats/multiplicity.h"
#include "headroom/stats/paired_ranks.h"

namespace headroom {
namespace {

std::optional<RoundRatio> ratio_of_rounds(const RoundComparison& one) {
  if (one.comparison.estimator != Estimator::kPaired) return std::nullopt;
  const Record &test = *one.comparison.test, &baseline = *one.comparison.baseline;
  const auto pairs = paired_series(test, baseline, one.comparison.test_factor);
  if (!pairs) return std::nullopt;
  return RoundRatio::of(pairs->a, pairs->b, one.look);
}

/// One of the suite with everything its verdict is made from. p-values are those of the claims that it lies
/// beyond 1 and beyond the margin, on the side on which it lies, in shares of the level of its look.
struct Judged {
  Comparison* comparison;
  double tail;
  double apart, beyond;
};

double adjustable(double p_value, double tail) {
  return std::min(1.0, p_value / tail * kLastTail);
}

Judged judged_of(RoundComparison& one, const RoundRatio& ratio, double margin) {
  one.comparison.ratio = ratio.estimate();
  one.comparison.margin = margin;
  one.comparison.p_value.reset();
  const bool above = one.comparison.ratio->ratio > 1;
  const double apart = above ? ratio.p_above(1) : ratio.p_below(1);
  const double beyond = above ? ratio.p_above(1 + margin) : ratio.p_below(1 - margin);
  return {&one.comparison, ratio.tail(), adjustable(apart, ratio.tail()), adjustable(beyond, ratio.tail())};
}

std::vector<double> adjusted(const std::vector<Judged>& suite, double Judged::*p_value) {
  std::vector<double> values;
  for (const Judged& judged : suite) values.push_back(judged.*p_value);
  return benjamini_hochberg_adjusted(values);
}

Verdict verdict_of(const Comparison& comparison, bool apart, bool beyond) {
  const Interval& interval = *comparison.ratio->interval;
  const double high = 1 + comparison.margin, low = 1 - comparison.margin;
  if (interval.low >= low && interval.high <= high) return Verdict::kSame;
  if (apart && beyond && interval.low > high) return Verdict::kRegression;
  if (apart && beyond && interval.high < low) return Verdict::kImprovement;
  return Verdict::kInconclusive;
}

}  // namespace

void judge_rounds(std::span<RoundComparison> comparisons, double margin) {
  std::vector<Judged> suite;
  for (RoundComparison& one : comparisons) {
    if (const auto ratio = ratio_of_rounds(one)) suite.push_back(judged_of(one, *ratio, margin));
  }
  const std::vector<double> apart = adjusted(suite, &Judged::apart);
  const std::vector<double> beyond = adjusted(suite, &Judged::beyond);
  for (std::size_t i = 0; i < suite.size(); ++i) {
    Comparison& comparison = *suite[i].comparison;
    const bool reachable =
        comparison.ratio->pairs >= fewest_pairs(suite[i].tail / static_cast<double>(suite.size()));
    const bool told =
        apart[i] <= kLastTail && comparison.ratio->interval && !comparison.ratio->interval->contains(1);
    if (comparison.ratio->interval && (told || reachable)) {
      comparison.verdict = verdict_of(comparison, told, beyond[i] <= kLastTail);
    } else {
      comparison.verdict = Verdict::kUnderpowered;
    }
    if (told && comparison.verdict != Verdict::kSame)
      comparison.p_value = apart[i] / kLastTail * suite[i].tail;
  }
}

bool told_apart(const Comparison& comparison) {
  return comparison.p_value.has_value();
}

std::size_t fewest_rounds(std::size_t comparisons) {
  return std::max<std::size_t>(
      6, fewest_pairs(kLastTail / static_cast<double>(std::max<std::size_t>(1, comparisons))));
}

}  // namespace headroom
