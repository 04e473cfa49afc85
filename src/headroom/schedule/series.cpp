// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/series.h"

#include "headroom/stats/quantile.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

/// Calls `visit` with the readings of each process in turn.
template <typename Visit>
void for_each_process(std::span<const Reading> readings, Visit&& visit) {
  for (std::size_t begin = 0; begin < readings.size();) {
    std::size_t end = begin;
    while (end < readings.size() && readings[end].epoch == readings[begin].epoch) ++end;
    visit(readings.subspan(begin, end - begin));
    begin = end;
  }
}

std::size_t warmup_of(std::span<const Reading> process) {
  std::vector<double> values;
  for (const Reading& reading : process) values.push_back(reading.ns);
  return warmup_length(values);
}

/// Values of the rounds that both series have, by process of the first.
struct Pairs {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};

Pairs pairs_of(const Series& a, const Series& b) {
  Pairs pairs;
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

}  // namespace

std::vector<std::size_t> warmup_by_process(std::span<const Reading> readings) {
  std::vector<std::size_t> lengths;
  for_each_process(readings,
                   [&](std::span<const Reading> process) { lengths.push_back(warmup_of(process)); });
  return lengths;
}

Series steady_series(std::span<const Reading> readings) {
  Series series;
  for_each_process(readings, [&](std::span<const Reading> process) {
    const std::span<const Reading> steady = process.subspan(warmup_of(process));
    for (const Reading& reading : steady) {
      series.values.push_back(reading.ns);
      series.rounds.push_back(reading.round);
    }
    if (!steady.empty()) series.group_sizes.push_back(steady.size());
  });
  return series;
}

std::optional<SeriesEstimate> estimate(const Series& series) {
  if (series.values.empty()) return std::nullopt;
  return SeriesEstimate{median(series.values), series_median_interval(series.values, series.group_sizes)};
}

std::optional<double> sampling_half_width(const Series& series) {
  const auto interval = sampling_interval(series.values, series.group_sizes);
  if (!interval) return std::nullopt;
  return relative_half_width(*interval, median(series.values));
}

std::optional<double> ratio_sampling_half_width(const Series& a, const Series& b) {
  const Pairs pairs = pairs_of(a, b);
  Series ratios{{}, {}, pairs.group_sizes};
  for (std::size_t i = 0; i < pairs.a.size(); ++i) ratios.values.push_back(pairs.a[i] / pairs.b[i]);
  return sampling_half_width(ratios);
}

std::optional<RatioEstimate> ratio_of(const Series& a, const Series& b) {
  const Pairs pairs = pairs_of(a, b);
  if (pairs.a.empty()) return std::nullopt;
  return paired_ratio(pairs.a, pairs.b, pairs.group_sizes);
}

}  // namespace headroom
