// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headroom/stats/interval.h"

namespace headroom {

/// The ratio a/b of two quantities, with the interval of that ratio.
struct RatioEstimate {
  double ratio = 1;
  std::optional<Interval> interval;  ///< nothing where there are too few pairs
  std::size_t pairs = 0;
};

/// a[i] and b[i] come from the same round. ratio = exp(median(ln a - ln b)); interval from
/// series_median_interval of the log ratios. All values > 0 and as many of each; std::invalid_argument
/// otherwise.
RatioEstimate paired_ratio(std::span<const double> a, std::span<const double> b,
                           std::span<const std::size_t> group_sizes = {}, double confidence = 0.95);

/// For samples that were not taken in the same rounds: ratio of medians, interval by combining the two order
/// statistic intervals of the log values at confidence sqrt(confidence) each. Assumes that the machine did
/// not change between the two: say so where it is shown.
RatioEstimate unpaired_ratio(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

/// The same for two series as they were measured: each side has its series_median_interval of the log values,
/// which knows of autocorrelation and of processes that differ, and the two are put together by their
/// recovered variances (MOVER: Zou and Donner 2008): low = d - sqrt((m_a - l_a)^2 + (u_b - m_b)^2), high
/// likewise. What is still taken for granted: that the machine as a whole did not change between the two.
/// Nothing in the samples can tell that from a change of the program.
RatioEstimate unpaired_series_ratio(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                                    std::span<const double> b, std::span<const std::size_t> group_sizes_b,
                                    double confidence = 0.95);

}  // namespace headroom
