// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/sum_tolerance.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// Times u sqrt(n): error bound of one value.
constexpr double kLambda = 2;
/// Returns the relative excess of the root mean square of so many errors over its expectation: four standard
/// deviations. The squares have a relative variance of 6 (three of a normal variable, times 7/3 of the
/// integral of the squared path of a Brownian motion, less 1), their root a quarter of that.
double scatter_of(std::size_t results) {
  return 5 / std::sqrt(static_cast<double>(std::max<std::size_t>(results, 1)));
}

}  // namespace

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  std::size_t finite = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

double scaled_error(double actual, double expected, double rms) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double scale = std::max(std::fabs(expected), rms);
  const double error = std::fabs(actual - expected) / scale;
  return std::isnan(error) || scale == 0 ? INFINITY : error;
}

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return 0x1p-8;
    case Precision::kF16:
      return 0x1p-11;
    case Precision::kF32:
      return 0x1p-24;
    case Precision::kF64:
      return 0x1p-53;
  }
  return 0x1p-24;
}

Tolerance tolerance_of_sums(Tolerance exact, Precision precision, std::initializer_list<std::size_t> terms,
                            std::size_t results) {
  Tolerance tolerance = exact;
  tolerance.sums_in = precision;
  if (!is_below_f32(precision)) return tolerance;
  double roots = 0;
  for (const std::size_t count : terms) roots += std::sqrt(static_cast<double>(count));
  const double u = unit_roundoff(precision);
  tolerance.relative = exact.relative + kLambda * u * roots;
  tolerance.root_mean_square = exact.relative + u * roots / std::sqrt(6.0) * (1 + scatter_of(results));
  return tolerance;
}

}  // namespace headroom
