// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/scaled_error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headroom {

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

}  // namespace headroom
