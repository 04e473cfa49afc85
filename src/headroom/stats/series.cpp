// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/series.h"

#include <algorithm>
#include <cmath>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::optional<Interval> interval_of_positive(const Series& series) {
  std::vector<double> logs(series.values.size());
  std::ranges::transform(series.values, logs.begin(), [](double value) { return std::log(value); });
  const auto interval = series_median_interval(logs, series.group_sizes);
  if (!interval || !std::isfinite(std::exp(interval->high))) return std::nullopt;
  return Interval{std::exp(interval->low), std::exp(interval->high), interval->confidence};
}

}  // namespace

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

}  // namespace headroom
