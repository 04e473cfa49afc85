// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/series.h"

#include "headroom/stats/quantile.h"

namespace headroom {
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
  return SeriesEstimate{median(series.values), series_median_interval(series.values, series.group_sizes)};
}

std::optional<double> sampling_half_width(const Series& series) {
  const auto interval = sampling_interval(series.values, series.group_sizes);
  if (!interval) return std::nullopt;
  return relative_half_width(*interval, median(series.values));
}

std::optional<double> ratio_sampling_half_width(const Series& a, const Series& b) {
  const SeriesPairs pairs = pairs_of(a, b);
  Series ratios{{}, {}, pairs.group_sizes};
  for (std::size_t i = 0; i < pairs.a.size(); ++i) ratios.values.push_back(pairs.a[i] / pairs.b[i]);
  return sampling_half_width(ratios);
}

std::optional<RatioEstimate> ratio_of(const Series& a, const Series& b) {
  const SeriesPairs pairs = pairs_of(a, b);
  if (pairs.a.empty()) return std::nullopt;
  return paired_ratio(pairs.a, pairs.b, pairs.group_sizes);
}

}  // namespace headroom
