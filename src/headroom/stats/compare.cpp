// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;

void take_logarithms(std::vector<double>& values) {
  for (double& value : values) {
    if (!(value > 0) || !std::isfinite(value))
      throw std::invalid_argument("ratio of a value that is not positive");
    value = std::log(value);
  }
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs(values.begin(), values.end());
  take_logarithms(logs);
  return logs;
}

double width(const Interval& interval) {
  return interval.high - interval.low;
}

/// Extrapolated logarithms grow exponentially: six values of 1 ms, one of them 5 ms, reach 36 s. Other
/// intervals end at most about seven times their range beyond the values.
///
/// SIM (600 series each, lognormal noise): of six values, intervals go in 1 of 570 at 5 % noise and in 1 of 9
/// at 20 %; of 20 values, in none of 600. Coverage stays at .97 to .995.
bool is_beyond(const Interval& interval, double least, double most) {
  constexpr double kMaxRanges = 10;
  return interval.high - most > kMaxRanges * (most - least) ||
         1 / interval.low - 1 / least > kMaxRanges * (1 / least - 1 / most);
}

std::optional<Interval> interval_of_positive(const Series& series) {
  std::vector<double> logs(series.values.size());
  std::ranges::transform(series.values, logs.begin(), [](double value) { return std::log(value); });
  const auto interval = series_median_interval(logs, series.group_sizes);
  if (!interval) return std::nullopt;
  const Interval found{std::exp(interval->low), std::exp(interval->high), interval->confidence};
  const auto [least, most] = std::ranges::minmax(series.values);
  // Equal values come back rounded.
  if (least != most && is_beyond(found, least, most)) return std::nullopt;
  return found;
}

std::vector<std::size_t> ascending(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) throw std::invalid_argument("p-value outside [0, 1]");
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

std::optional<Interval> exponential(const std::optional<Interval>& logs) {
  if (!logs) return std::nullopt;
  return Interval{std::exp(logs->low), std::exp(logs->high), logs->confidence};
}

RatioSeries::RatioSeries(SeriesLocation above, std::optional<SeriesLocation> below,
                         std::optional<SeriesLocation> means, std::size_t pairs)
    : above_(std::move(above)), below_(std::move(below)), means_(std::move(means)), pairs_(pairs) {
  choose_narrower();
}

RatioSeries RatioSeries::paired(std::span<const double> a, std::span<const double> b,
                                std::span<const std::size_t> group_sizes) {
  if (a.size() != b.size() || a.empty())
    throw std::invalid_argument("a paired ratio needs two samples of one size, not empty");
  std::vector<double> differences = logarithms(a);
  const std::vector<double> base = logarithms(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= base[i];
  return {SeriesLocation(differences, group_sizes), std::nullopt,
          SeriesLocation(differences, group_sizes, Location::kHodgesLehmann), a.size()};
}

RatioSeries RatioSeries::unpaired(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                                  std::span<const double> b, std::span<const std::size_t> group_sizes_b) {
  if (a.empty() || b.empty()) throw std::invalid_argument("ratio of no values");
  return unpaired(log_location({a.begin(), a.end()}, group_sizes_a),
                  log_location({b.begin(), b.end()}, group_sizes_b), std::min(a.size(), b.size()));
}

RatioSeries RatioSeries::unpaired(SeriesLocation log_a, SeriesLocation log_b, std::size_t pairs) {
  return {std::move(log_a), std::move(log_b), std::nullopt, pairs};
}

SeriesLocation RatioSeries::log_location(std::vector<double> values,
                                         std::span<const std::size_t> group_sizes) {
  take_logarithms(values);
  return SeriesLocation(std::move(values), group_sizes);
}

/// Extended by the distance of its estimate from the median.
std::optional<Interval> RatioSeries::mean_interval(IntervalOf interval, double confidence) const {
  std::optional<Interval> logs = ((*means_).*interval)(confidence);
  if (!logs) return std::nullopt;
  const double off = above_.value() - means_->value();
  (off < 0 ? logs->low : logs->high) += off;
  return logs;
}

std::optional<Interval> RatioSeries::pair_interval(IntervalOf interval, double confidence) const {
  return means_are_narrower_ ? mean_interval(interval, confidence) : (above_.*interval)(confidence);
}

/// Differing processes would favour estimates of a few that happen to lie close.
void RatioSeries::choose_narrower() {
  if (!means_) return;
  const auto by_median = above_.sampling_interval(kConfidence);
  const auto by_means = mean_interval(&SeriesLocation::sampling_interval, kConfidence);
  means_are_narrower_ = by_median && by_means && width(*by_means) < width(*by_median);
}

RatioEstimate RatioSeries::at(double confidence) const {
  if (!below_)
    return {std::exp(above_.value()), exponential(pair_interval(&SeriesLocation::interval, confidence)),
            pairs_};
  const double difference = above_.value() - below_->value();
  RatioEstimate result{std::exp(difference), std::nullopt, pairs_};
  const auto above = above_.interval(confidence), below = below_->interval(confidence);
  if (above && below) {
    const double down = std::hypot(above_.value() - above->low, below->high - below_->value());
    const double up = std::hypot(above->high - above_.value(), below_->value() - below->low);
    result.interval = exponential(Interval{difference - down, difference + up, confidence});
  }
  return result;
}

std::optional<double> RatioSeries::sampling_half_width() const {
  const auto interval = exponential(pair_interval(&SeriesLocation::sampling_interval, kConfidence));
  if (!interval) return std::nullopt;
  return relative_half_width(*interval, std::exp(above_.value()));
}

double RatioSeries::neighbour_correlation() const {
  if (!below_) return above_.neighbour_correlation();
  return 0.5 * (above_.neighbour_correlation() + below_->neighbour_correlation());
}

void RatioSeries::expect_correlation(double rho) {
  above_.expect_correlation(rho);
  if (below_) below_->expect_correlation(rho);
  if (means_) means_->expect_correlation(rho);
  choose_narrower();
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

SeriesPairs pairs_of(const Series& a, const Series& b) {
  SeriesPairs pairs;
  std::size_t i = 0, j = 0;
  for (const std::size_t size : a.group_sizes) {
    const std::size_t end = i + size, before = pairs.a.size();
    for (; i < end; ++i) {
      while (j < b.rounds.size() && b.rounds[j] < a.rounds[i]) ++j;
      if (j == b.rounds.size() || b.rounds[j] != a.rounds[i]) continue;
      pairs.a.push_back(a.values[i]);
      pairs.b.push_back(b.values[j]);
    }
    if (pairs.a.size() > before) pairs.group_sizes.push_back(pairs.a.size() - before);
  }
  return pairs;
}

std::optional<SeriesEstimate> estimate(const Series& series) {
  if (series.values.empty()) return std::nullopt;
  const double middle = median(series.values), lowest = std::ranges::min(series.values);
  if (lowest > 0) return SeriesEstimate{middle, interval_of_positive(series)};
  SeriesEstimate result{middle, series_median_interval(series.values, series.group_sizes)};
  if (result.interval && lowest == 0) result.interval->low = std::max(0.0, result.interval->low);
  return result;
}

std::optional<double> sampling_half_width(const Series& series) {
  const auto interval = sampling_interval(series.values, series.group_sizes);
  if (!interval) return std::nullopt;
  return relative_half_width(*interval, median(series.values));
}

std::optional<double> ratio_sampling_half_width(const Series& a, const Series& b) {
  const SeriesPairs pairs = pairs_of(a, b);
  if (pairs.a.empty()) return std::nullopt;
  return RatioSeries::paired(pairs.a, pairs.b, pairs.group_sizes).sampling_half_width();
}

std::optional<RatioEstimate> ratio_of(const Series& a, const Series& b) {
  const SeriesPairs pairs = pairs_of(a, b);
  if (pairs.a.empty()) return std::nullopt;
  return paired_ratio(pairs.a, pairs.b, pairs.group_sizes);
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values) {
  const std::vector<std::size_t> order = ascending(p_values);
  std::vector<double> adjusted(p_values.size());
  double smallest = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size()) / static_cast<double>(i + 1);
    smallest = std::min(smallest, scaled);
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

}  // namespace headroom
