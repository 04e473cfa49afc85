// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/quantile.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace headroom {
namespace {

void require_finite(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics of no values");
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
}

}  // namespace

double quantile_in_place(std::span<double> values, double p) {
  require_finite(values);
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
  require_finite(values);
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

}  // namespace headroom
