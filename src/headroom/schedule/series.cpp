// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/series.h"

#include <algorithm>
#include <cmath>

#include "headroom/stats/quantile.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

constexpr std::size_t kRecentReadings = 31;

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

std::vector<double> half_widths(std::span<const Track> cases) {
  std::vector<double> widths(cases.size(), 0);
  std::optional<Series> baseline;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].alive()) continue;
    const Series series = steady_series(cases[i].readings);
    widths[i] = sampling_half_width(series).value_or(INFINITY);
    if (baseline)
      widths[i] = std::max(widths[i], ratio_sampling_half_width(series, *baseline).value_or(INFINITY));
    else
      baseline = series;
  }
  return widths;
}

std::optional<double> worst_half_width(std::span<const double> half_widths) {
  const double worst = half_widths.empty() ? 0 : std::ranges::max(half_widths);
  if (!std::isfinite(worst)) return std::nullopt;
  return worst;
}

std::optional<double> recent_median_ns(std::span<const Reading> readings) {
  std::vector<double> values;
  for (const Reading& reading : readings.last(std::min(readings.size(), kRecentReadings))) {
    values.push_back(reading.ns);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

}  // namespace headroom
