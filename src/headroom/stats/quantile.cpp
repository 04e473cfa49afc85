// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/quantile.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

void require_values(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics of no values");
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
}

struct Below {
  double count = 0;
  double largest = 0;  ///< the smallest of all if count is 0
};

Below at_or_below(std::span<const double> sorted, double bound) {
  Below below{0, sorted.front()};
  // A larger first value leaves fewer second values.
  std::size_t end = sorted.size();
  for (std::size_t first = 0; first < sorted.size(); ++first) {
    while (end > first && 0.5 * (sorted[first] + sorted[end - 1]) > bound) --end;
    if (end <= first) break;
    below.count += static_cast<double>(end - first);
    below.largest = std::max(below.largest, 0.5 * (sorted[first] + sorted[end - 1]));
  }
  return below;
}

/// For a whole rank.
double exact_walsh_average(std::span<const double> sorted, double rank) {
  constexpr int kHalvings = 60;
  double low = sorted.front(), high = sorted.back();
  if (at_or_below(sorted, low).count >= rank) return low;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    const Below below = at_or_below(sorted, middle);
    if (below.count == rank) return below.largest;
    (below.count >= rank ? high : low) = middle;
  }
  return at_or_below(sorted, high).largest;
}

void require_probability(double p) {
  if (!(p > 0 && p < 1)) throw std::invalid_argument("probability outside (0, 1)");
}

/// P(|T| <= t), whole degrees of freedom: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
double student_t_two_sided(double t, std::size_t degrees) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cos_squared = std::cos(theta) * std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::cos(theta) : 1;
  double sum = degrees > 1 ? term : 0;
  for (std::size_t i = odd ? 3 : 2; i < degrees; i += 2) {
    term *= cos_squared * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  if (odd) return 2 / std::numbers::pi * (theta + std::sin(theta) * sum);
  return std::sin(theta) * sum;
}

/// Solves cdf(x) = target for x >= 0; `cdf` rises.
template <typename Cdf>
double invert(const Cdf& cdf, double target) {
  double low = 0;
  double high = 1;
  while (cdf(high) < target && high < 1e15) high *= 2;
  while (high - low > 1e-13 * high) {
    const double middle = 0.5 * (low + high);
    (cdf(middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// Of a 95 % interval, rounded as callers compute it.
constexpr double kDefaultTail = 1 - (0.5 + 0.5 * 0.95);

double upper_normal_quantile(double tail) {
  return invert([](double x) { return 1 - std::erfc(x / std::numbers::sqrt2); }, 1 - 2 * tail);
}

}  // namespace

double quantile_in_place(std::span<double> values, double p) {
  require_values(values);
  if (!(p >= 0 && p <= 1)) throw std::invalid_argument("quantile outside [0, 1]");
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), lower, values.end());
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return *lower;
  return std::lerp(*lower, *std::min_element(lower + 1, values.end()), fraction);
}

double quantile(std::span<const double> values, double p) {
  std::vector<double> copy(values.begin(), values.end());
  return quantile_in_place(copy, p);
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

double median_absolute_deviation(std::span<const double> values) {
  const double center = median(values);
  std::vector<double> deviations(values.begin(), values.end());
  for (double& value : deviations) value = std::abs(value - center);
  return median(deviations);
}

double mean(std::span<const double> values) {
  require_values(values);
  // A running mean cannot overflow where the sum would.
  double result = 0;
  double count = 0;
  for (const double value : values) result += (value - result) / ++count;
  return result;
}

double standard_deviation(std::span<const double> values) {
  const double center = mean(values);
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double walsh_count(std::size_t count) {
  return 0.5 * static_cast<double>(count) * static_cast<double>(count + 1);
}

double walsh_average(std::span<const double> sorted, double rank) {
  rank = std::clamp(rank, 1.0, walsh_count(sorted.size()));
  const double whole = std::floor(rank);
  const double below = exact_walsh_average(sorted, whole);
  if (whole == rank) return below;
  return std::lerp(below, exact_walsh_average(sorted, whole + 1), rank - whole);
}

double normal_quantile(double p) {
  require_probability(p);
  if (p == 0.5) return 0;
  // Every 95 % interval needs it, and it costs as much as the rest of a short series.
  static const double kOfUsual = upper_normal_quantile(kDefaultTail);
  const double tail = std::min(p, 1 - p);
  const double z = tail == kDefaultTail ? kOfUsual : upper_normal_quantile(tail);
  return p < 0.5 ? -z : z;
}

double student_t_quantile(double p, std::size_t degrees) {
  require_probability(p);
  if (degrees == 0) throw std::invalid_argument("Student's t with no degree of freedom");
  if (p == 0.5) return 0;
  const double tail = std::min(p, 1 - p);
  const double t = invert([&](double x) { return student_t_two_sided(x, degrees); }, 1 - 2 * tail);
  return p < 0.5 ? -t : t;
}

RankPair binomial_ranks(std::size_t n, double p, double tail) {
  require_probability(p);
  // In logarithms: (1 - p)^n underflows from about 1,000 trials on.
  const double log_odds = std::log(p) - std::log1p(-p);
  double log_term = static_cast<double>(n) * std::log1p(-p);
  double below = 0;
  RankPair ranks{0, n + 1};
  for (std::size_t k = 0; k < n; ++k) {
    below += std::exp(log_term);
    if (below <= tail) ranks.low = k + 1;
    if (below >= 1 - tail) {
      ranks.high = k + 1;
      break;
    }
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1)) + log_odds;
  }
  return ranks;
}

}  // namespace headroom
