// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/paired_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace headroom {
namespace {

constexpr std::size_t kCounted = 25;
/// Halvings of the range of all differences: to a billionth of it.
constexpr int kHalvings = 40;

std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

/// P(sum of sizes with fair signs >= total) for whole sizes, each way counted.
double counted_tail(const std::vector<std::size_t>& sizes, std::size_t total) {
  // With all signs up the sum is `all`; each size that is turned down takes twice its own off.
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

/// One-sided p-value of a sum of differences, their sizes being given and their signs fair. `inflation`
/// multiplies its variance; where all differences have one sign there is nothing for it to act on.
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
  // Ranks are whole or a half.
  std::vector<std::size_t> sizes;
  for (const double difference : differences)
    sizes.push_back(static_cast<std::size_t>(2 * std::abs(difference)));
  return counted_tail(sizes, static_cast<std::size_t>(2 * shown));
}

}  // namespace

PairedRanks::PairedRanks(std::span<const double> a, std::span<const double> b, double inflation)
    : a_(a.begin(), a.end()), b_(b.begin(), b.end()), inflation_(inflation) {
  if (a.size() != b.size() || a.empty()) throw std::invalid_argument("paired ranks need as many of each");
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

/// Of each round: rank of b less theta, less the rank of a, among all; ties share the mean of their ranks.
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
  // T falls as theta grows, in steps: from above 0 it comes to 0 at one theta and goes below at another.
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

}  // namespace headroom
