// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/autocorrelation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace headroom {
namespace {

/// Branch-free.
template <typename IsBefore>
std::size_t count_before(std::span<const double> values, const IsBefore& is_before) {
  const double* base = values.data();
  std::size_t count = values.size();
  while (count > 1) {
    const std::size_t half = count / 2;
    base += half * static_cast<std::size_t>(is_before(base[half - 1]));
    count -= half;
  }
  const bool last = count == 1 && is_before(*base);
  return static_cast<std::size_t>(base - values.data()) + (last ? 1 : 0);
}

/// Sorted values in buckets of equal width. A bucket with most values (a very long tail) is searched whole.
class Buckets {
 public:
  explicit Buckets(std::span<const double> sorted) : sorted_(sorted) {
    const std::size_t count = std::min(kMax, sorted.size() / kPerBucket);
    if (count < 2) return;
    scale_ = static_cast<double>(count) / (sorted.back() - sorted.front());
    if (!(scale_ > 0) || !std::isfinite(scale_)) return;
    begins_.reserve(count + 1);
    last_ = count - 1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      while (begins_.size() <= bucket_of(sorted[i])) begins_.push_back(i);
    }
    begins_.resize(count + 1, sorted.size());
  }

  /// From 1, mean over ties; the value must be present.
  double rank(double value) const {
    std::size_t begin = 0, end = sorted_.size();
    if (!begins_.empty()) {
      const std::size_t bucket = bucket_of(value);
      begin = begins_[bucket];
      end = begins_[bucket + 1];
    }
    if (sorted_[begin] != sorted_[end - 1]) {
      const std::span<const double> rest = sorted_.subspan(begin, end - begin);
      const std::size_t first = count_before(rest, [value](double other) { return other < value; });
      const bool has_tie = first + 1 < rest.size() && rest[first + 1] == value;
      end = begin +
            (has_tie ? count_before(rest, [value](double other) { return other <= value; }) : first + 1);
      begin += first;
    }
    return 1 + 0.5 * static_cast<double>(begin + end - 1);
  }

 private:
  static constexpr std::size_t kMax = 1 << 16, kPerBucket = 16;

  std::size_t bucket_of(double value) const {
    return std::min(last_, static_cast<std::size_t>((value - sorted_.front()) * scale_));
  }

  std::span<const double> sorted_;
  std::vector<std::size_t> begins_;  ///< start of each bucket, then the end; empty for a single bucket
  double scale_ = 0;
  std::size_t last_ = 0;
};

constexpr std::size_t kMinGroupSize = 8;
/// Bounds the cost.
constexpr std::size_t kMaxLag = 1000;

void require_finite(std::span<const double> values) {
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
}

/// Centred ranks of several series, end to end.
class RankSeries {
 public:
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
      // Divided by the length, so that the longest process does not dominate.
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

double score_correlation(double rho, Location location) {
  rho = std::clamp(rho, -1.0, 1.0);
  return location == Location::kMedian ? 2 / std::numbers::pi * std::asin(rho) : rho;
}

double inflation_from_all_lags(const RankSeries& series, double rho, Location location) {
  const double length = series.length();
  rho = std::min(rho, 0.95);
  const double bias = (1 + rho) / (1 - rho) / length;
  const auto lags = std::min(kMaxLag, std::max<std::size_t>(3, static_cast<std::size_t>(length / 4)));
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

/// Autocorrelation::first_lag_bound.
double bound_of(double rho, double total) {
  const double of_few = 0.2 * std::pow(6 / total, 1.5);
  const double share = std::clamp(rho * std::sqrt(total) - 1.5, 0.0, 1.0);
  if (share == 0) return std::min(1.0, of_few);
  const double error = std::sqrt(std::max(0.0, 1 - rho * rho) / total);
  return std::min(1.0, std::max(of_few, rho + share * error));
}

}  // namespace

void replace_by_ranks(std::span<double> values, std::span<const double> sorted) {
  if (sorted.empty()) return;
  const Buckets buckets(sorted);
  for (double& value : values) value = buckets.rank(value);
}

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
      !group_sizes.empty() && *std::min_element(group_sizes.begin(), group_sizes.end()) >= kMinGroupSize;
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
