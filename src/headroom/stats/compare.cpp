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

RatioSeries RatioSeries::paired(std::span<const double> a, std::span<const double> b,
                                std::span<const std::size_t> group_sizes) {
  if (a.size() != b.size() || a.empty()) throw std::invalid_argument("paired ratio needs as many of each");
  std::vector<double> differences = logarithms(a);
  const std::vector<double> base = logarithms(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= base[i];
  return {SeriesMedian(differences, group_sizes), std::nullopt, a.size()};
}

RatioSeries RatioSeries::unpaired(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                                  std::span<const double> b, std::span<const std::size_t> group_sizes_b) {
  if (a.empty() || b.empty()) throw std::invalid_argument("ratio of no values");
  SeriesMedian above(logarithms(a), group_sizes_a);
  return {std::move(above), SeriesMedian(logarithms(b), group_sizes_b), std::min(a.size(), b.size())};
}

RatioEstimate RatioSeries::at(double confidence) const {
  const double difference = above_.value() - (below_ ? below_->value() : 0);
  RatioEstimate result{std::exp(difference), std::nullopt, pairs_};
  const auto above = above_.interval(confidence);
  const auto below = below_ ? below_->interval(confidence) : std::nullopt;
  if (above && !below_) {
    result.interval = Interval{std::exp(above->low), std::exp(above->high), confidence};
  } else if (above && below) {
    const double down = std::hypot(above_.value() - above->low, below->high - below_->value());
    const double up = std::hypot(above->high - above_.value(), below_->value() - below->low);
    result.interval = Interval{std::exp(difference - down), std::exp(difference + up), confidence};
  }
  return result;
}

double RatioSeries::neighbour_correlation() const {
  if (!below_) return above_.neighbour_correlation();
  return 0.5 * (above_.neighbour_correlation() + below_->neighbour_correlation());
}

void RatioSeries::expect_correlation(double rho) {
  above_.expect_correlation(rho);
  if (below_) below_->expect_correlation(rho);
}

RatioEstimate weighted_product(std::span<const RatioEstimate> ratios, std::span<const double> weights) {
  if (ratios.empty() || ratios.size() != weights.size())
    throw std::invalid_argument("a product needs a weight for each ratio");
  double sum = 0, down = 0, up = 0, confidence = 0;
  bool bounded = true;
  std::size_t pairs = ratios.front().pairs;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    sum += weights[i] * std::log(ratios[i].ratio);
    pairs = std::min(pairs, ratios[i].pairs);
    bounded = bounded && ratios[i].interval;
    if (!bounded) continue;
    const double below = weights[i] * std::log(ratios[i].ratio / ratios[i].interval->low);
    const double above = weights[i] * std::log(ratios[i].interval->high / ratios[i].ratio);
    down = std::hypot(down, weights[i] < 0 ? above : below);
    up = std::hypot(up, weights[i] < 0 ? below : above);
    confidence = ratios[i].interval->confidence;
  }
  RatioEstimate product{std::exp(sum), std::nullopt, pairs};
  if (bounded) product.interval = Interval{std::exp(sum - down), std::exp(sum + up), confidence};
  return product;
}

RatioEstimate paired_ratio(std::span<const double> a, std::span<const double> b,
                           std::span<const std::size_t> group_sizes, double confidence) {
  return RatioSeries::paired(a, b, group_sizes).at(confidence);
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
  return RatioSeries::unpaired(a, group_sizes_a, b, group_sizes_b).at(confidence);
}

}  // namespace headroom
