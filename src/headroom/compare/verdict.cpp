// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "headroom/stats/multiplicity.h"

namespace headroom {
namespace {

bool has_samples(const Comparison& comparison) {
  return comparison.estimator != Estimator::kNone;
}

/// What an interval says by itself.
Verdict claim_of(const Comparison& comparison, const RatioEstimate& ratio) {
  const RatioEstimate worse = worsening(ratio, comparison.baseline->metric.direction);
  if (worse.interval->low > 1 + comparison.margin) return Verdict::kRegression;
  if (worse.interval->high < 1 - comparison.margin) return Verdict::kImprovement;
  const bool inside =
      worse.interval->low >= 1 - comparison.margin && worse.interval->high <= 1 + comparison.margin;
  return inside ? Verdict::kSame : Verdict::kInconclusive;
}

bool is_change(Verdict verdict) {
  return verdict == Verdict::kRegression || verdict == Verdict::kImprovement;
}

/// Whether the two lie wholly on different sides of 1.
bool disagree(const RatioEstimate& a, const RatioEstimate& b) {
  return (a.interval->low > 1 && b.interval->high < 1) || (a.interval->high < 1 && b.interval->low > 1);
}

/// What the ratio and the change of the shares of modes say together. `shares`: nothing where it is not
/// known.
Verdict claim_of(const Comparison& comparison, const RatioEstimate& ratio,
                 const std::optional<RatioEstimate>& shares) {
  const Verdict by_ratio = claim_of(comparison, ratio);
  if (!comparison.modes) return by_ratio;
  if (!shares) return is_change(by_ratio) ? by_ratio : Verdict::kInconclusive;
  const Verdict by_shares = claim_of(comparison, *shares);
  if (disagree(ratio, *shares) && (is_change(by_ratio) || is_change(by_shares))) {
    // Only a ratio mode by mode has nothing of the shares in it.
    if (comparison.estimator != Estimator::kModes) return Verdict::kInconclusive;
    const Verdict both =
        claim_of(comparison, weighted_product(std::array{ratio, *shares}, std::array{1.0, 1.0}));
    return is_change(both) ? both : Verdict::kInconclusive;
  }
  if (is_change(by_ratio)) return by_ratio;
  if (is_change(by_shares)) return by_shares;
  return by_ratio == by_shares && all_bounded(*comparison.modes) ? by_ratio : Verdict::kInconclusive;
}

/// By how much neighbouring rounds are correlated over the whole suite: what the machine does to one case it
/// does to the others, and many short series tell it far better than one. A mean within its own standard
/// error counts only in part.
double shared_correlation(std::span<const Comparison* const> suite) {
  double sum = 0;
  double samples = 0;
  for (const Comparison* comparison : suite) {
    const auto weight = static_cast<double>(comparison->samples);
    sum += weight * comparison->neighbour_correlation;
    samples += weight;
  }
  if (sum <= 0) return 0;
  const double mean = sum / samples;
  return mean * std::min(1.0, mean * std::sqrt(samples));
}

/// Whether the interval at confidence 1 - 2p still makes the claim.
bool holds_at(const Comparison& comparison, const ComparedRatio& ratio, Verdict claim, double p) {
  const double confidence = 1 - 2 * p;
  const RatioEstimate at = ratio.at(confidence);
  return at.interval && claim_of(comparison, at, ratio.share_effect(confidence)) == claim;
}

/// How many intervals could have made the claim: with modes that of the ratio and that of their shares.
double looks_of(const Comparison& comparison) {
  return comparison.modes && comparison.modes->share_effect ? 2 : 1;
}

/// The smallest p at which the claim holds, to within 2 %; it holds at .025 unless the neighbours are
/// correlated by more than its own interval knows.
double p_value_of(const Comparison& comparison, Verdict claim, double correlation) {
  constexpr double kSmallest = 1e-9, kLargest = 0.025;
  ComparedRatio ratio(*comparison.baseline, *comparison.test, comparison.test_factor, comparison.known);
  ratio.expect_correlation(correlation);
  if (holds_at(comparison, ratio, claim, kSmallest)) return kSmallest;
  if (!holds_at(comparison, ratio, claim, kLargest)) return 1;
  double holds = std::log(kLargest);
  double fails = std::log(kSmallest);
  while (holds - fails > 0.02) {
    const double middle = 0.5 * (holds + fails);
    (holds_at(comparison, ratio, claim, std::exp(middle)) ? holds : fails) = middle;
  }
  return std::exp(holds);
}

std::vector<double> adjusted(const std::vector<double>& p_values, Multiplicity multiplicity) {
  return multiplicity == Multiplicity::kHolm ? holm_adjusted(p_values)
                                             : benjamini_hochberg_adjusted(p_values);
}

/// Withdraws the claims of one kind that do not survive the correction.
void correct(std::span<Comparison* const> suite, Verdict claim, double correlation, const JudgeRule& rule) {
  std::vector<double> p_values;
  for (const Comparison* comparison : suite) {
    const double p = comparison->verdict == claim
                         ? looks_of(*comparison) * p_value_of(*comparison, claim, correlation)
                         : 1;
    p_values.push_back(std::min(1.0, p));
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
    const std::optional<RatioEstimate> shares =
        comparison->modes ? comparison->modes->share_effect : std::nullopt;
    comparison->verdict = reachable && comparison->ratio->interval
                              ? claim_of(*comparison, *comparison->ratio, shares)
                              : Verdict::kUnderpowered;
  }
  const double correlation = shared_correlation(suite);
  correct(suite, Verdict::kRegression, correlation, rule);
  correct(suite, Verdict::kImprovement, correlation, rule);
  for (Comparison* comparison : suite) {
    if (!comparison->doubts.empty() && comparison->verdict != Verdict::kUnderpowered)
      comparison->verdict = Verdict::kInconclusive;
  }
}

}  // namespace headroom
