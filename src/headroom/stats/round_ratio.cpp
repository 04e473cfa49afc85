// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/round_ratio.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headroom/stats/autocorrelation.h"

namespace headroom {
namespace {

/// In standard errors: a smaller correlation of neighbours is what coins give.
constexpr double kTold = 2;
constexpr double kLargestCorrelation = 0.95;
/// Of both kinds of look together.
constexpr double kConfidence = 1 - 2 * (kRunningTail + kLastTail);

/// By how much the variance of a sum grows with the correlation of neighbours that the values show: an AR(1)
/// series' (1 + rho)/(1 - rho).
double inflation_of(const std::vector<double>& values) {
  const double rho = std::min(kLargestCorrelation, autocorrelation(values).first_lag);
  if (rho * std::sqrt(static_cast<double>(values.size())) <= kTold) return 1;
  return (1 + rho) / (1 - rho);
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

}  // namespace

std::optional<RoundRatio> RoundRatio::of(std::span<const double> test, std::span<const double> baseline,
                                         Look look) {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (test.empty() || !std::ranges::all_of(test, usable) || !std::ranges::all_of(baseline, usable)) {
    return std::nullopt;
  }
  const std::vector<double> above = logarithms(test), below = logarithms(baseline);
  std::vector<double> differences = above;
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= below.at(i);
  const double inflation = inflation_of(differences);
  PairedRanks ranks(below, above, inflation);
  const double middle = ranks.middle();
  if (look == Look::kLast) return RoundRatio(std::move(ranks), test.size(), middle);
  return RoundRatio(Bets(differences, inflation), test.size(), middle);
}

RatioEstimate RoundRatio::estimate() const {
  RatioEstimate estimate{std::exp(middle_), std::nullopt, pairs_};
  const auto interval = std::visit([&](const auto& test) { return test.interval(tail()); }, test_);
  if (!interval) return estimate;
  // The stakes weigh the rounds otherwise than the ranks do: the interval shall hold the middle all the same.
  estimate.interval = Interval{std::exp(std::min(interval->low, middle_)),
                               std::exp(std::max(interval->high, middle_)), kConfidence};
  return estimate;
}

double RoundRatio::p_above(double ratio) const {
  return std::visit([&](const auto& test) { return test.p_above(std::log(ratio)); }, test_);
}

double RoundRatio::p_below(double ratio) const {
  return std::visit([&](const auto& test) { return test.p_below(std::log(ratio)); }, test_);
}

}  // namespace headroom
