// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/run_spread.h"

#include <cmath>
#include <stdexcept>

#include "headroom/stats/distribution.h"
#include "headroom/stats/quantile.h"

namespace headroom {

std::optional<RunSpread> run_spread(std::span<const std::vector<double>> groups) {
  double squares = 0;
  RunSpread spread;
  for (const std::vector<double>& group : groups) {
    std::vector<double> logs;
    for (const double value : group) {
      if (!(value > 0) || !std::isfinite(value)) throw std::invalid_argument("a run's value is not positive");
      logs.push_back(std::log(value));
    }
    if (logs.size() < 2) continue;
    const double sd = standard_deviation(logs);
    squares += sd * sd * static_cast<double>(logs.size() - 1);
    spread.degrees += logs.size() - 1;
  }
  if (spread.degrees == 0) return std::nullopt;
  spread.log_sd = std::sqrt(squares / static_cast<double>(spread.degrees));
  return spread;
}

std::optional<RunSpread> pooled(const std::optional<RunSpread>& a, const std::optional<RunSpread>& b) {
  if (!a || !b) return a ? a : b;
  const auto squares = [](const RunSpread& spread) {
    return spread.log_sd * spread.log_sd * static_cast<double>(spread.degrees);
  };
  const std::size_t degrees = a->degrees + b->degrees;
  return RunSpread{std::sqrt((squares(*a) + squares(*b)) / static_cast<double>(degrees)), degrees};
}

double run_half_width(const RunSpread& spread, std::size_t a, std::size_t b, double confidence) {
  return student_t_quantile(0.5 + 0.5 * confidence, spread.degrees) * spread.log_sd *
         std::sqrt(1 / static_cast<double>(a) + 1 / static_cast<double>(b));
}

}  // namespace headroom
