// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/share.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/distribution.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kMostCorrelation = 0.98;

Interval wilson_interval(double share, double count, double confidence) {
  const double z = normal_quantile(0.5 + 0.5 * confidence), square = z * z / count;
  const double center = (share + 0.5 * square) / (1 + square);
  const double half = std::sqrt(square * (share * (1 - share) + 0.25 * square)) / (1 + square);
  return {std::clamp(center - half, 0.0, share), std::clamp(center + half, share, 1.0), confidence};
}

}  // namespace

SeriesShare::SeriesShare(std::vector<double> values, std::span<const std::size_t> group_sizes) {
  const bool fits = std::ranges::all_of(values, [](double value) { return value >= 0 && value <= 1; });
  const std::size_t grouped = std::accumulate(group_sizes.begin(), group_sizes.end(), std::size_t{0});
  if (values.empty() || !fits || (!group_sizes.empty() && grouped != values.size()))
    throw std::invalid_argument("a share is of values from 0 to 1");
  share_ = mean(values);
  count_ = static_cast<double>(values.size());
  std::vector<std::size_t> sizes;
  std::size_t start = 0;
  for (const std::size_t size : group_sizes) {
    if (size == 0) continue;
    sizes.push_back(size);
    process_shares_.push_back(mean(std::span(values).subspan(start, size)));
    start += size;
  }
  if (process_shares_.size() < 2) process_shares_.clear();
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  expect_correlation(autocorrelation(std::move(values), sorted, sizes, Location::kMedian).first_lag);
}

void SeriesShare::expect_correlation(double rho) {
  // Within its own standard error it counts only in part, as in autocorrelation().
  const double counted = rho * std::min(1.0, rho * std::sqrt(count_));
  if (rho > 0) correlation_ = std::max(correlation_, std::min(kMostCorrelation, counted));
}

Interval SeriesShare::interval(double confidence) const {
  Interval interval = wilson_interval(share_, count_ * (1 - correlation_) / (1 + correlation_), confidence);
  if (process_shares_.empty()) return interval;
  const Interval between = student_interval(process_shares_, share_, confidence);
  interval.low = std::max(0.0, std::min(interval.low, between.low));
  interval.high = std::min(1.0, std::max(interval.high, between.high));
  return interval;
}

Interval share_difference_interval(const SeriesShare& a, const SeriesShare& b, double confidence) {
  const Interval of_a = a.interval(confidence), of_b = b.interval(confidence);
  const double difference = a.value() - b.value();
  return {difference - std::hypot(a.value() - of_a.low, of_b.high - b.value()),
          difference + std::hypot(of_a.high - a.value(), b.value() - of_b.low), confidence};
}

}  // namespace headroom
