// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headroom/stats/multiplicity.h"

namespace headroom {
namespace {

bool has_samples(const Comparison& comparison) {
  return comparison.estimator != Estimator::kNone;
}

/// What the 95 % interval says by itself.
Verdict claim_of(const Comparison& comparison) {
  const RatioEstimate worse = worsening(*comparison.ratio, comparison.baseline->metric.direction);
  if (worse.interval->low > 1 + comparison.margin) return Verdict::kRegression;
  if (worse.interval->high < 1 - comparison.margin) return Verdict::kImprovement;
  const bool inside =
      worse.interval->low >= 1 - comparison.margin && worse.interval->high <= 1 + comparison.margin;
  return inside ? Verdict::kSame : Verdict::kInconclusive;
}

/// Whether the interval at confidence 1 - 2p still makes the claim.
bool holds_at(const Comparison& comparison, Verdict claim, double p) {
  const RatioEstimate ratio = ratio_at(comparison, 1 - 2 * p);
  if (!ratio.interval) return false;
  Comparison at = comparison;
  at.ratio = ratio;
  return claim_of(at) == claim;
}

/// The smallest p at which the claim holds, to within 2 %; it holds at .025.
double p_value_of(const Comparison& comparison, Verdict claim) {
  constexpr double kSmallest = 1e-9;
  if (holds_at(comparison, claim, kSmallest)) return kSmallest;
  double holds = std::log(0.025);
  double fails = std::log(kSmallest);
  while (holds - fails > 0.02) {
    const double middle = 0.5 * (holds + fails);
    (holds_at(comparison, claim, std::exp(middle)) ? holds : fails) = middle;
  }
  return std::exp(holds);
}

std::vector<double> adjusted(const std::vector<double>& p_values, Multiplicity multiplicity) {
  return multiplicity == Multiplicity::kHolm ? holm_adjusted(p_values)
                                             : benjamini_hochberg_adjusted(p_values);
}

/// Withdraws the claims of one kind that do not survive the correction.
void correct(std::span<Comparison* const> suite, Verdict claim, const JudgeRule& rule) {
  std::vector<double> p_values;
  for (const Comparison* comparison : suite) {
    p_values.push_back(comparison->verdict == claim ? p_value_of(*comparison, claim) : 1);
  }
  const std::vector<double> corrected = adjusted(p_values, rule.multiplicity);
  for (std::size_t i = 0; i < suite.size(); ++i) {
    if (suite[i]->verdict != claim) continue;
    suite[i]->p_value = corrected[i];
    if (corrected[i] > rule.alpha) suite[i]->verdict = Verdict::kInconclusive;
  }
}

}  // namespace

void judge(std::span<Comparison> comparisons, const JudgeRule& rule) {
  std::vector<Comparison*> suite;
  for (Comparison& comparison : comparisons) {
    comparison.margin = margin_of(rule.margins, *comparison.baseline);
    comparison.p_value.reset();
    if (has_samples(comparison)) suite.push_back(&comparison);
  }
  const double hardest = rule.alpha / static_cast<double>(std::max<std::size_t>(1, suite.size()));
  for (Comparison* comparison : suite) {
    const bool reachable = std::exp2(-static_cast<double>(comparison->samples)) <= hardest;
    comparison->verdict =
        reachable && comparison->ratio->interval ? claim_of(*comparison) : Verdict::kUnderpowered;
  }
  correct(suite, Verdict::kRegression, rule);
  correct(suite, Verdict::kImprovement, rule);
}

}  // namespace headroom
