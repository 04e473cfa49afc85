// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/round_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::array<double, 5> kBoldness{0.05, 0.1, 0.2, 0.4, 0.8};
/// In scales: limits the effect of an outlier.
constexpr double kCut = 3;
constexpr std::size_t kFirstScale = 5;

constexpr std::size_t kCounted = 25;
/// Halvings of the range of all differences, to 1e-9 of it.
constexpr int kHalvings = 40;

std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

/// P(sum of sizes with random signs >= total), counted exactly.
double counted_tail(const std::vector<std::size_t>& sizes, std::size_t total) {
  // Each negative sign subtracts twice the size from the sum `all`.
  const std::size_t all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const std::size_t most_down = (all - total) / 2;
  std::vector<double> chance(most_down + 1);
  chance[0] = 1;
  for (const std::size_t size : sizes) {
    for (std::size_t down = most_down + 1; down-- > 0;) {
      chance[down] = 0.5 * chance[down] + (down >= size ? 0.5 * chance[down - size] : 0);
    }
  }
  return std::accumulate(chance.begin(), chance.end(), 0.0);
}

/// One-sided, for a sum of differences with random signs. `inflation` multiplies its variance, unless all
/// have one sign.
double p_of(const std::vector<double>& differences, double inflation) {
  const double sum = std::accumulate(differences.begin(), differences.end(), 0.0);
  if (sum <= 0) return 1;
  double squares = 0, sizes_sum = 0;
  for (const double difference : differences) {
    squares += difference * difference;
    sizes_sum += std::abs(difference);
  }
  if (sum == sizes_sum && std::ranges::count(differences, 0.0) == 0)
    return std::exp2(-static_cast<double>(differences.size()));
  const double shown = sum / std::sqrt(inflation);
  if (differences.size() > kCounted) return 0.5 * std::erfc(shown / std::sqrt(2 * squares));
  // Ranks are multiples of 1/2.
  std::vector<std::size_t> sizes;
  for (const double difference : differences)
    sizes.push_back(static_cast<std::size_t>(2 * std::abs(difference)));
  return counted_tail(sizes, static_cast<std::size_t>(2 * shown));
}

/// Smaller lag-1 correlations are chance.
constexpr double kMinStandardErrors = 2;
constexpr double kMaxRoundCorrelation = 0.95;
constexpr double kSequentialConfidence = 1 - 2 * (kRunningTail + kLastTail);

/// (1 + rho)/(1 - rho): growth of the variance of a sum of an AR(1) series.
double inflation_of(const std::vector<double>& values) {
  const double rho = std::min(kMaxRoundCorrelation, autocorrelation(values).first_lag);
  if (rho * std::sqrt(static_cast<double>(values.size())) <= kMinStandardErrors) return 1;
  return (1 + rho) / (1 - rho);
}

std::vector<double> log_values(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

}  // namespace

Bets::Bets(std::span<const double> values, double inflation) : inflation_(inflation) {
  if (!(inflation >= 1)) throw std::invalid_argument("inflation below 1");
  std::size_t next = kFirstScale;
  double scale = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) throw std::invalid_argument("a bet on a value that is not finite");
    if (i == next) {
      scale = kDeviationPerMad * median_absolute_deviation(values.first(i));
      next += std::max<std::size_t>(1, next / 2);
    }
    bets_.push_back({values[i], scale});
  }
}

double Bets::p_value(double theta, double sign) const {
  std::array<double, kBoldness.size()> log_stakes{};
  for (const Bet& bet : bets_) {
    const double distance = sign * (bet.value - theta);
    // Without a scale only the side counts.
    const double sided = distance > 0 ? kCut : distance < 0 ? -kCut : 0;
    const double x = bet.scale > 0 ? std::clamp(distance / bet.scale, -kCut, kCut) : sided;
    for (std::size_t i = 0; i < kBoldness.size(); ++i) {
      log_stakes[i] += std::log(2.0) - std::log1p(std::exp(-2 * kBoldness[i] * x));
    }
  }
  const double largest = *std::ranges::max_element(log_stakes);
  double sum = 0;
  for (const double log_stake : log_stakes) sum += std::exp(log_stake - largest);
  const double log_stake = largest + std::log(sum / static_cast<double>(kBoldness.size()));
  // A stake of normal values is exp(b S - b^2 V/2): its root suits a variance larger by that factor.
  return std::min(1.0, std::exp(-log_stake / inflation_));
}

double Bets::p_above(double theta) const {
  return p_value(theta, 1);
}

double Bets::p_below(double theta) const {
  return p_value(theta, -1);
}

std::optional<Interval> Bets::interval(double tail) const {
  if (bets_.empty()) return std::nullopt;
  double low = bets_.front().value, high = low;
  for (const Bet& bet : bets_) {
    low = std::min(low, bet.value);
    high = std::max(high, bet.value);
  }
  const double reach = std::max(high - low, 1e-12 * std::max(std::abs(low), std::abs(high)));
  low -= reach;
  high += reach;
  if (p_above(low) > tail || p_below(high) > tail) return std::nullopt;
  // The stakes are monotonic in theta: bisect between a rejected and an accepted theta.
  const auto edge = [&](double rejected, double other, auto&& p) {
    for (int i = 0; i < 60; ++i) {
      const double middle = std::midpoint(rejected, other);
      (p(middle) <= tail ? rejected : other) = middle;
    }
    return rejected;
  };
  return Interval{edge(low, high, [&](double theta) { return p_above(theta); }),
                  edge(high, low, [&](double theta) { return p_below(theta); }), 1 - 2 * tail};
}

PairedRanks::PairedRanks(std::span<const double> a, std::span<const double> b, double inflation)
    : a_(a.begin(), a.end()), b_(b.begin(), b.end()), inflation_(inflation) {
  if (a.size() != b.size() || a.empty())
    throw std::invalid_argument("paired ranks need two samples of one size, not empty");
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(a, finite) || !std::ranges::all_of(b, finite)) {
    throw std::invalid_argument("ranks of a value that is not finite");
  }
  if (!(inflation >= 1)) throw std::invalid_argument("inflation below 1");
  order_a_ = order_of(a_);
  order_b_ = order_of(b_);
  lowest_ = b_[order_b_.front()] - a_[order_a_.back()];
  highest_ = b_[order_b_.back()] - a_[order_a_.front()];
}

/// Per round: rank of b less theta minus that of a, among all values; means for ties.
std::vector<double> PairedRanks::rank_differences(double theta) const {
  const std::size_t n = a_.size();
  std::vector<double> differences(n);
  std::size_t i = 0, j = 0;
  while (i < n || j < n) {
    const double of_a = i < n ? a_[order_a_[i]] : INFINITY;
    const double of_b = j < n ? b_[order_b_[j]] - theta : INFINITY;
    const double value = std::min(of_a, of_b);
    const std::size_t first_a = i, first_b = j;
    while (i < n && a_[order_a_[i]] == value) ++i;
    while (j < n && b_[order_b_[j]] - theta == value) ++j;
    const double rank = 0.5 * static_cast<double>(first_a + first_b + 1 + i + j);
    for (std::size_t k = first_a; k < i; ++k) differences[order_a_[k]] -= rank;
    for (std::size_t k = first_b; k < j; ++k) differences[order_b_[k]] += rank;
  }
  return differences;
}

double PairedRanks::statistic(double theta) const {
  const std::vector<double> differences = rank_differences(theta);
  return std::accumulate(differences.begin(), differences.end(), 0.0);
}

double PairedRanks::middle() const {
  // T falls in steps as theta grows: it reaches 0 at one theta and is negative from another on.
  const auto edge = [&](auto&& is_before) {
    double before = lowest_, after = highest_;
    for (int i = 0; i < kHalvings; ++i) {
      const double between = std::midpoint(before, after);
      (is_before(statistic(between)) ? before : after) = between;
    }
    return std::midpoint(before, after);
  };
  return std::midpoint(edge([](double t) { return t > 0; }), edge([](double t) { return t >= 0; }));
}

double PairedRanks::p_value(double theta, double sign) const {
  std::vector<double> differences = rank_differences(theta);
  for (double& difference : differences) difference *= sign;
  return p_of(differences, inflation_);
}

double PairedRanks::p_above(double theta) const {
  return p_value(theta, 1);
}

double PairedRanks::p_below(double theta) const {
  return p_value(theta, -1);
}

std::optional<Interval> PairedRanks::interval(double tail) const {
  if (a_.size() < fewest_pairs(tail)) return std::nullopt;
  const auto edge = [&](double rejected, double other, auto&& p) {
    for (int i = 0; i < kHalvings; ++i) {
      const double between = std::midpoint(rejected, other);
      (p(between) <= tail ? rejected : other) = between;
    }
    return rejected;
  };
  const double center = middle();
  return Interval{edge(lowest_, center, [&](double theta) { return p_above(theta); }),
                  edge(highest_, center, [&](double theta) { return p_below(theta); }), 1 - 2 * tail};
}

std::size_t fewest_pairs(double tail) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(-std::log2(tail))));
}

std::optional<RoundRatio> RoundRatio::of(std::span<const double> test, std::span<const double> baseline,
                                         Look look) {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (test.empty() || !std::ranges::all_of(test, usable) || !std::ranges::all_of(baseline, usable)) {
    return std::nullopt;
  }
  const std::vector<double> above = log_values(test), below = log_values(baseline);
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
  // The stakes weigh rounds differently from ranks; the interval must still contain the centre.
  estimate.interval = Interval{std::exp(std::min(interval->low, middle_)),
                               std::exp(std::max(interval->high, middle_)), kSequentialConfidence};
  return estimate;
}

double RoundRatio::p_above(double ratio) const {
  return std::visit([&](const auto& test) { return test.p_above(std::log(ratio)); }, test_);
}

double RoundRatio::p_below(double ratio) const {
  return std::visit([&](const auto& test) { return test.p_below(std::log(ratio)); }, test_);
}

}  // namespace headroom
