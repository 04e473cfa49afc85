// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/betting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::array<double, 5> kBoldness{0.05, 0.1, 0.2, 0.4, 0.8};
/// In scales: an outlier costs and wins no more than this.
constexpr double kCut = 3;
constexpr std::size_t kFirstScale = 5;
constexpr double kDeviationPerMad = 1.4826;

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
    // Before the scale is known, and where there is none, only the side counts.
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
  // A stake of normal values is exp(b S - b^2 V/2): its root is one for a variance that is larger by as much.
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
  // The stakes only fall (rise) as theta grows: the edge is between a theta that is rejected and one that is
  // not.
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

}  // namespace headroom
