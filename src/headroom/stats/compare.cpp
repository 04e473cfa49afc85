// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/compare.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value))
      throw std::invalid_argument("ratio of a value that is not positive");
    logs.push_back(std::log(value));
  }
  return logs;
}

}  // namespace

RatioEstimate paired_ratio(std::span<const double> a, std::span<const double> b,
                           std::span<const std::size_t> group_sizes, double confidence) {
  if (a.size() != b.size() || a.empty()) throw std::invalid_argument("paired ratio needs as many of each");
  std::vector<double> differences = logarithms(a);
  const std::vector<double> base = logarithms(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= base[i];

  RatioEstimate result{std::exp(median(differences)), std::nullopt, a.size()};
  if (const auto interval = series_median_interval(differences, group_sizes, confidence)) {
    result.interval = Interval{std::exp(interval->low), std::exp(interval->high), confidence};
  }
  return result;
}

RatioEstimate unpaired_ratio(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.empty() || b.empty()) throw std::invalid_argument("ratio of no values");
  const std::vector<double> log_a = logarithms(a);
  const std::vector<double> log_b = logarithms(b);

  RatioEstimate result{std::exp(median(log_a) - median(log_b)), std::nullopt, std::min(a.size(), b.size())};
  const double each = std::sqrt(confidence);
  const auto interval_a = median_interval(log_a, each);
  const auto interval_b = median_interval(log_b, each);
  if (interval_a && interval_b) {
    result.interval = Interval{std::exp(interval_a->low - interval_b->high),
                               std::exp(interval_a->high - interval_b->low), confidence};
  }
  return result;
}

RatioEstimate unpaired_series_ratio(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                                    std::span<const double> b, std::span<const std::size_t> group_sizes_b,
                                    double confidence) {
  if (a.empty() || b.empty()) throw std::invalid_argument("ratio of no values");
  const std::vector<double> log_a = logarithms(a);
  const std::vector<double> log_b = logarithms(b);
  const double median_a = median(log_a);
  const double median_b = median(log_b);

  RatioEstimate result{std::exp(median_a - median_b), std::nullopt, std::min(a.size(), b.size())};
  const auto in_a = series_median_interval(log_a, group_sizes_a, confidence);
  const auto in_b = series_median_interval(log_b, group_sizes_b, confidence);
  if (in_a && in_b) {
    const double down = std::hypot(median_a - in_a->low, in_b->high - median_b);
    const double up = std::hypot(in_a->high - median_a, median_b - in_b->low);
    result.interval =
        Interval{std::exp(median_a - median_b - down), std::exp(median_a - median_b + up), confidence};
  }
  return result;
}

}  // namespace headroom
