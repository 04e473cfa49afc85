// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace headroom {
namespace {

void require_probability(double p) {
  if (!(p > 0 && p < 1)) throw std::invalid_argument("probability outside (0, 1)");
}

/// P(|T| <= t) for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
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

/// The x >= 0 at which the rising function `cdf` reaches `target`.
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

/// 1 - (0.5 + 0.5 * 0.95), as it comes out in doubles.
constexpr double kUsualTail = 1 - (0.5 + 0.5 * 0.95);

double upper_normal_quantile(double tail) {
  return invert([](double x) { return 1 - std::erfc(x / std::numbers::sqrt2); }, 1 - 2 * tail);
}

}  // namespace

double normal_quantile(double p) {
  require_probability(p);
  if (p == 0.5) return 0;
  // Every interval at 95 % asks for it, and it takes as long as all else that a short series needs.
  static const double kOfUsual = upper_normal_quantile(kUsualTail);
  const double tail = std::min(p, 1 - p);
  const double z = tail == kUsualTail ? kOfUsual : upper_normal_quantile(tail);
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
  // In logarithms: (1 - p)^n underflows from about a thousand trials on.
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
