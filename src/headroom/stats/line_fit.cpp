// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/line_fit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace headroom {

std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::invalid_argument("fit_line: as many x as y are needed");
  // Weighted least squares with weights 1 / y^2, about the weighted means: no cancellation of large sums.
  double weights = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(y[i] > 0)) throw std::invalid_argument("fit_line: y must be above 0");
    const double weight = 1 / (y[i] * y[i]);
    weights += weight;
    mean_x += weight * x[i];
    mean_y += weight * y[i];
  }
  mean_x /= weights;
  mean_y /= weights;
  double spread = 0, together = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    spread += weight * (x[i] - mean_x) * (x[i] - mean_x);
    together += weight * (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (x.size() < 2 || !(spread > 0)) return std::nullopt;
  LineFit fit;
  fit.slope = together / spread;
  fit.intercept = mean_y - fit.slope * mean_x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    fit.worst_error = std::max(fit.worst_error, std::abs(fit.intercept + fit.slope * x[i] - y[i]) / y[i]);
  }
  return fit;
}

}  // namespace headroom
