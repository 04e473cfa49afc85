// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/autocorrelation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "headroom/stats/sorted_ranks.h"

namespace headroom {
namespace {

constexpr std::size_t kFewestInGroup = 8;
/// Keeps the cost of a check linear for very long series; noise that remembers longer than this is drift.
constexpr std::size_t kLongestLag = 1000;

void require_finite(std::span<const double> values) {
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
}

/// Centred ranks of several series of their own, laid end to end.
class RankSeries {
 public:
  /// `sorted`: all of the values in ascending order.
  RankSeries(std::vector<double> values, std::span<const double> sorted, std::span<const std::size_t> sizes)
      : sizes_(sizes.begin(), sizes.end()), scores_(std::move(values)) {
    std::size_t start = 0;
    for (const std::size_t size : sizes_) {
      const std::span<double> scores = std::span(scores_).subspan(start, size);
      if (sizes_.size() == 1) {
        replace_by_ranks(scores, sorted);
      } else {
        mid_ranks(scores, scores);
      }
      // Divided by the length, or the longest process would have the say.
      for (double& score : scores)
        score = (score - 0.5 * static_cast<double>(size + 1)) / static_cast<double>(size);
      start += size;
    }
    for (const double score : scores_) squares_ += score * score;
  }

  double length() const { return static_cast<double>(scores_.size()) / static_cast<double>(sizes_.size()); }
  double total() const { return static_cast<double>(scores_.size()); }
  bool constant() const { return squares_ == 0; }

  double autocorrelation(std::size_t lag) const {
    double products = 0;
    std::size_t start = 0;
    for (const std::size_t size : sizes_) {
      for (std::size_t i = start; i + lag < start + size; ++i) products += scores_[i] * scores_[i + lag];
      start += size;
    }
    return products / squares_;
  }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<double> scores_;
  double squares_ = 0;
};

/// Of what the variance of the location is made of, by the correlation of ranks.
double score_correlation(double rho, Location location) {
  rho = std::clamp(rho, -1.0, 1.0);
  return location == Location::kMedian ? 2 / std::numbers::pi * std::asin(rho) : rho;
}

double inflation_from_all_lags(const RankSeries& series, double rho, Location location) {
  const double length = series.length();
  rho = std::min(rho, 0.95);
  const double bias = (1 + rho) / (1 - rho) / length;
  const auto lags = std::min(kLongestLag, std::max<std::size_t>(3, static_cast<std::size_t>(length / 4)));
  const auto corrected = [&](std::size_t lag) {
    if (lag == 0) return 1.0;
    const double k = static_cast<double>(lag);
    return score_correlation(
        series.autocorrelation(lag) * length / (length - k) + bias * (1 - std::pow(rho, k)), location);
  };
  double sum = 0;
  double previous = 2;
  for (std::size_t lag = 0; lag + 1 <= lags; lag += 2) {
    const double pair = std::min(previous, corrected(lag) + corrected(lag + 1));
    if (pair <= 0) break;
    sum += pair;
    previous = pair;
  }
  return 2 * sum - 1;
}

/// Autocorrelation::first_lag_bound of so many values in all.
double bound_of(double rho, double total) {
  const double of_few = 0.2 * std::pow(6 / total, 1.5);
  const double share = std::clamp(rho * std::sqrt(total) - 1.5, 0.0, 1.0);
  if (share == 0) return std::min(1.0, of_few);
  const double error = std::sqrt(std::max(0.0, 1 - rho * rho) / total);
  return std::min(1.0, std::max(of_few, rho + share * error));
}

}  // namespace

void mid_ranks(std::span<const double> values, std::span<double> ranks) {
  require_finite(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::copy(values.begin(), values.end(), ranks.begin());
  replace_by_ranks(ranks, sorted);
}

double first_lag_inflation(double rho, double length, Location location) {
  rho = std::min(rho, 0.98);
  double sum = 0;
  double power = rho;
  for (double lag = 1; lag < length && power > 1e-4; ++lag, power *= rho) {
    sum += (1 - lag / length) * score_correlation(power, location);
  }
  return 1 + 2 * sum;
}

Autocorrelation autocorrelation(std::span<const double> values, std::span<const std::size_t> group_sizes,
                                Location location) {
  require_finite(values);
  std::vector<double> copy(values.begin(), values.end()), sorted = copy;
  std::sort(sorted.begin(), sorted.end());
  return autocorrelation(std::move(copy), sorted, group_sizes, location);
}

Autocorrelation autocorrelation(std::vector<double>&& values, std::span<const double> sorted,
                                std::span<const std::size_t> group_sizes, Location location) {
  const std::size_t whole[] = {values.size()};
  const bool split =
      !group_sizes.empty() && *std::min_element(group_sizes.begin(), group_sizes.end()) >= kFewestInGroup;
  const RankSeries series(std::move(values), sorted,
                          split ? group_sizes : std::span<const std::size_t>(whole));
  Autocorrelation result;
  result.length = series.length();
  if (result.length < 4 || series.constant()) return result;
  const double rho = (result.length * series.autocorrelation(1) + 1) / (result.length - 3);
  result.first_lag = std::clamp(rho, -1.0, 1.0);
  result.first_lag_bound = bound_of(rho, series.total());
  if (rho <= 0) return result;
  const double inflation = std::max(first_lag_inflation(rho, result.length, location),
                                    inflation_from_all_lags(series, rho, location));
  const double weight = std::min(1.0, rho * std::sqrt(series.total()));
  result.inflation = std::max(1.0, 1 + weight * (inflation - 1));
  return result;
}

double autocorrelation_inflation(std::span<const double> values, std::span<const std::size_t> group_sizes) {
  return autocorrelation(values, group_sizes).inflation;
}

}  // namespace headroom
