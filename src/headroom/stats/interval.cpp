// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/interval.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

void require_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw std::invalid_argument("confidence outside (0, 1)");
}

std::vector<double> sorted_copy(std::span<const double> values) {
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::vector<std::size_t> processes(std::size_t count, std::span<const std::size_t> group_sizes) {
  if (group_sizes.empty()) return {count};
  if (std::accumulate(group_sizes.begin(), group_sizes.end(), std::size_t{0}) != count) {
    throw std::invalid_argument("the group sizes do not add up to the number of values");
  }
  std::vector<std::size_t> sizes;
  std::copy_if(group_sizes.begin(), group_sizes.end(), std::back_inserter(sizes),
               [](auto size) { return size > 0; });
  return sizes;
}

/// 1 - 2 * 2^-n >= confidence.
bool enough_for_median(std::size_t count, double confidence) {
  return 1 - 2 * std::pow(0.5, static_cast<double>(count)) >= confidence;
}

/// The middle of sorted values, of which `first` lie below.
struct SortedMiddle {
  std::span<const double> values;
  std::size_t first, count;

  SortedMiddle(const std::vector<double>& all) : values(all), first(0), count(all.size()) {}
  SortedMiddle(const std::vector<double>& middle, std::size_t below, std::size_t of)
      : values(middle), first(below), count(of) {}
};

/// At a rank from 1 to n; linear between ranks.
double order_statistic(const SortedMiddle& sorted, double rank) {
  const double position = std::clamp(rank - 1, 0.0, static_cast<double>(sorted.count - 1));
  const auto below = static_cast<std::size_t>(position);
  const std::size_t place = below - sorted.first;
  if (below + 1 == sorted.count) return sorted.values[place];
  return std::lerp(sorted.values[place], sorted.values[place + 1], position - static_cast<double>(below));
}

/// Fewer values do not show correlation.
constexpr std::size_t kMinSeriesValues = 12;

/// Because n_eff is an estimate. Chosen by simulation. Callers divide by the factor at n_eff = n.
double estimation_factor(double effective) {
  const double degrees = std::max(0.3, effective - 1);
  return 1 + 14 / (degrees * degrees);
}

double allowed_inflation(const Autocorrelation& autocorrelation, Location location) {
  return std::max(autocorrelation.inflation,
                  first_lag_inflation(autocorrelation.first_lag_bound, autocorrelation.length, location));
}

/// The uncertainty of n_eff widens to at most 7, which suffices for a lag-1 correlation of .9.
double widening(double inflation, std::size_t count) {
  constexpr double kWidestByRoughness = 7;
  const double of_variance = std::sqrt(inflation), values = static_cast<double>(count);
  const double rough = of_variance * estimation_factor(values / inflation) / estimation_factor(values);
  return std::max(of_variance, std::min(rough, kWidestByRoughness));
}

/// Sorted values for a median, Walsh averages for the Hodges-Lehmann estimate. `rank_sd`: standard deviation
/// of the true location's rank for independent values.
struct Ranked {
  SortedMiddle sorted;
  Location location;
  double count, rank_sd;

  Ranked(const SortedMiddle& of, Location at) : sorted(of), location(at) {
    const auto n = static_cast<double>(of.count);
    const bool is_median = at == Location::kMedian;
    count = is_median ? n : walsh_count(of.count);
    rank_sd = is_median ? 0.5 * std::sqrt(n) : std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
  }
  double at(double rank) const {
    return location == Location::kMedian ? order_statistic(sorted, rank) : walsh_average(sorted.values, rank);
  }
  double middle_rank() const { return 0.5 * (count + 1); }
};

/// z standard deviations of the rank, times `wider`, around the middle; beyond the sample each side is
/// extended in proportion.
Interval rank_interval(const Ranked& ranked, double wider, double confidence) {
  const double half = normal_quantile(0.5 + 0.5 * confidence) * wider * ranked.rank_sd;
  const double most = ranked.middle_rank() - 1;
  const double low = ranked.at(ranked.middle_rank() - std::min(half, most));
  const double high = ranked.at(ranked.middle_rank() + std::min(half, most));
  if (wider == 1 || half <= most) return {low, high, confidence};
  const double center = ranked.at(ranked.middle_rank()), longer = half / most;
  return {center - longer * (center - low), center + longer * (high - center), confidence};
}

Interval between_interval(const std::vector<double>& each, double center, double confidence) {
  if (!enough_for_median(each.size(), confidence)) return student_interval(each, center, confidence);
  const std::vector<double> sorted = sorted_copy(each);
  return rank_interval({sorted, Location::kMedian}, 1, confidence);
}

double location_of(const std::vector<double>& sorted, Location location) {
  const Ranked ranked(sorted, location);
  return ranked.at(ranked.middle_rank());
}

/// Mean square between over within processes, on ranks: 1 if they do not differ.
double between_inflation(std::span<const double> values, const std::vector<std::size_t>& sizes) {
  if (sizes.size() < 2 || sizes.size() == values.size()) return 1;
  std::vector<double> ranks(values.size());
  mid_ranks(values, ranks);
  const double center = mean(ranks);
  double between = 0;
  double within = 0;
  std::size_t start = 0;
  for (const std::size_t size : sizes) {
    const std::span<const double> group = std::span(ranks).subspan(start, size);
    const double group_mean = mean(group);
    between += static_cast<double>(size) * (group_mean - center) * (group_mean - center);
    for (const double rank : group) within += (rank - group_mean) * (rank - group_mean);
    start += size;
  }
  between /= static_cast<double>(sizes.size() - 1);
  within /= static_cast<double>(values.size() - sizes.size());
  if (within == 0) return between == 0 ? 1 : std::numeric_limits<double>::infinity();
  return between / within;
}

constexpr double kMaxCorrelation = 0.98;

Interval wilson_interval(double share, double count, double confidence) {
  const double z = normal_quantile(0.5 + 0.5 * confidence), square = z * z / count;
  const double center = (share + 0.5 * square) / (1 + square);
  const double half = std::sqrt(square * (share * (1 - share) + 0.25 * square)) / (1 + square);
  return {std::clamp(center - half, 0.0, share), std::clamp(center + half, share, 1.0), confidence};
}

}  // namespace

double relative_half_width(const Interval& interval, double estimate) {
  const double half_width = 0.5 * (interval.high - interval.low);
  if (half_width == 0) return 0;
  return half_width / std::abs(estimate);
}

Interval student_interval(std::span<const double> each, double center, double confidence) {
  const double half_width = student_t_quantile(0.5 + 0.5 * confidence, each.size() - 1) *
                            standard_deviation(each) / std::sqrt(static_cast<double>(each.size()));
  return {center - half_width, center + half_width, confidence};
}

std::optional<Interval> quantile_interval(std::span<const double> values, double p, double confidence) {
  require_confidence(confidence);
  if (!(p >= 0 && p <= 1)) throw std::invalid_argument("quantile outside [0, 1]");
  const std::vector<double> sorted = sorted_copy(values);
  if (p == 0 || p == 1) return std::nullopt;
  const auto [low, high] = binomial_ranks(sorted.size(), p, 0.5 * (1 - confidence));
  if (low < 1 || high > sorted.size()) return std::nullopt;
  return Interval{sorted[low - 1], sorted[high - 1], confidence};
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  return quantile_interval(values, 0.5, confidence);
}

SeriesLocation::SeriesLocation(std::span<const double> values, std::span<const std::size_t> group_sizes,
                               Location location)
    : SeriesLocation(std::vector<double>(values.begin(), values.end()), group_sizes, location) {}

SeriesLocation::SeriesLocation(std::vector<double>&& values, std::span<const std::size_t> group_sizes,
                               Location location)
    : location_(location), sorted_(sorted_copy(values)), count_(values.size()) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  value_ = location_of(sorted_, location);
  const std::vector<std::size_t> sizes = processes(values.size(), group_sizes);
  std::size_t start = 0;
  for (const std::size_t size : sizes) {
    if (sizes.size() < 2) break;
    process_values_.push_back(location_of(sorted_copy(std::span(values).subspan(start, size)), location));
    start += size;
  }
  autocorrelation_ = autocorrelation(std::move(values), sorted_, sizes, location);
  drop_unreachable_values();
}

/// Drops values that no interval reaches, even at the highest confidence and correlation.
void SeriesLocation::drop_unreachable_values() {
  constexpr std::size_t kManyValues = 100'000;
  if (location_ != Location::kMedian || count_ < kManyValues) return;
  const double z = normal_quantile(1 - std::numeric_limits<double>::epsilon() / 2);
  const double most_alike = first_lag_inflation(1, autocorrelation_.length, location_);
  const double inflation = std::max(allowed_inflation(autocorrelation_, location_), most_alike);
  const Ranked ranked(sorted_, location_);
  const double reach = 1.01 * z * widening(inflation, count_) * ranked.rank_sd + 2;
  if (!(reach < 0.25 * static_cast<double>(count_))) return;
  const std::size_t half = static_cast<std::size_t>(reach), middle = count_ / 2;
  first_ = middle - half;
  const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(first_);
  sorted_ = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(2 * half));
}

void SeriesLocation::expect_correlation(double rho) {
  autocorrelation_.inflation =
      std::max(autocorrelation_.inflation, first_lag_inflation(rho, autocorrelation_.length, location_));
}

std::optional<Interval> SeriesLocation::sampling_interval(double confidence) const {
  require_confidence(confidence);
  const bool is_drift = autocorrelation_.first_lag >= 1;
  if (!enough_for_median(count_, confidence) || is_drift) return std::nullopt;
  return rank_interval({{sorted_, first_, count_}, location_},
                       widening(allowed_inflation(autocorrelation_, location_), count_), confidence);
}

std::optional<Interval> SeriesLocation::interval(double confidence) const {
  std::optional<Interval> interval = sampling_interval(confidence);
  if (!interval || process_values_.size() < 2) return interval;
  const Interval between = between_interval(process_values_, value(), confidence);
  interval->low = std::min(interval->low, between.low);
  interval->high = std::max(interval->high, between.high);
  return interval;
}

std::optional<Interval> series_quantile_interval(std::span<const double> values, double p,
                                                 std::span<const std::size_t> group_sizes,
                                                 double confidence) {
  require_confidence(confidence);
  if (!(p > 0 && p < 1)) throw std::invalid_argument("quantile outside (0, 1)");
  if (p == 0.5) return series_median_interval(values, group_sizes, confidence);
  const std::vector<std::size_t> sizes = processes(values.size(), group_sizes);
  if (values.size() < kMinSeriesValues) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double effective = count / allowed_inflation(autocorrelation(values, sizes), Location::kMedian);
  const double tail = 0.5 * (1 - confidence) / estimation_factor(effective) * estimation_factor(count);
  const auto whole = static_cast<std::size_t>(effective);
  const RankPair ranks = binomial_ranks(whole, p, tail);
  if (ranks.low < 1 || ranks.high > whole) return std::nullopt;
  const std::vector<double> sorted = sorted_copy(values);
  const double scale = (count + 1) / static_cast<double>(whole + 1);
  Interval interval{order_statistic(sorted, scale * static_cast<double>(ranks.low)),
                    order_statistic(sorted, scale * static_cast<double>(ranks.high)), confidence};
  if (sizes.size() < 2) return interval;
  std::vector<double> quantiles;
  std::size_t start = 0;
  for (const std::size_t size : sizes) {
    quantiles.push_back(quantile(values.subspan(start, size), p));
    start += size;
  }
  // The quantile over all possible processes is their mean plus a multiple of their standard deviation; in
  // the tails both are estimated from few values (variance of a normal quantile: (1 + z^2/2)/k).
  const double z = normal_quantile(p), tails = std::sqrt(1 + 0.5 * z * z), center = quantile(values, p);
  const Interval between = student_interval(quantiles, center, confidence);
  interval.low = std::min(interval.low, center - tails * (center - between.low));
  interval.high = std::max(interval.high, center + tails * (between.high - center));
  return interval;
}

std::optional<Interval> sampling_interval(std::span<const double> values,
                                          std::span<const std::size_t> group_sizes, double confidence) {
  require_confidence(confidence);
  processes(values.size(), group_sizes);
  if (!enough_for_median(values.size(), confidence)) return std::nullopt;
  return SeriesLocation(values, group_sizes).sampling_interval(confidence);
}

std::optional<Interval> series_median_interval(std::span<const double> values,
                                               std::span<const std::size_t> group_sizes, double confidence) {
  require_confidence(confidence);
  processes(values.size(), group_sizes);
  if (!enough_for_median(values.size(), confidence)) return std::nullopt;
  return SeriesLocation(values, group_sizes).interval(confidence);
}

double effective_sample_size(std::span<const double> values, std::span<const std::size_t> group_sizes) {
  if (values.empty()) throw std::invalid_argument("effective size of no values");
  const std::vector<std::size_t> sizes = processes(values.size(), group_sizes);
  const double inflation =
      autocorrelation_inflation(values, sizes) * std::max(1.0, between_inflation(values, sizes));
  return std::max(1.0, static_cast<double>(values.size()) / inflation);
}

SeriesShare::SeriesShare(std::vector<double> values, std::span<const std::size_t> group_sizes) {
  const bool fits = std::ranges::all_of(values, [](double value) { return value >= 0 && value <= 1; });
  const std::size_t grouped = std::accumulate(group_sizes.begin(), group_sizes.end(), std::size_t{0});
  if (values.empty() || !fits || (!group_sizes.empty() && grouped != values.size()))
    throw std::invalid_argument("a share needs values from 0 to 1");
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
  // Counts in proportion within its standard error, as in autocorrelation().
  const double counted = rho * std::min(1.0, rho * std::sqrt(count_));
  if (rho > 0) correlation_ = std::max(correlation_, std::min(kMaxCorrelation, counted));
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
