// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// Values in the order measured, with how many of them each process gave.
struct Series {
  std::vector<double> values;
  std::vector<std::uint32_t> rounds;
  std::vector<std::size_t> group_sizes;
};

/// Values of the rounds that both series have, by process of the first.
struct SeriesPairs {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};
SeriesPairs pairs_of(const Series& a, const Series& b);

struct SeriesEstimate {
  double median = 0;
  std::optional<Interval> interval;
};
/// Median and interval of a series; nothing when it is empty. The interval of what is positive is that of its
/// logarithms: it stays positive, and times and their rates have intervals that are each other's inverse.
/// Where no value is below 0 the interval is not either.
std::optional<SeriesEstimate> estimate(const Series& series);

/// Relative half-width of the median, respectively of the ratio a / b, as far as more samples from the same
/// processes can narrow it: what sampling goes on for. Nothing where there is no interval yet.
std::optional<double> sampling_half_width(const Series& series);
std::optional<double> ratio_sampling_half_width(const Series& a, const Series& b);

/// a / b over the rounds that both have. Nothing when they share none.
std::optional<RatioEstimate> ratio_of(const Series& a, const Series& b);

}  // namespace headroom
