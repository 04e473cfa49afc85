// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "headroom/stats/interval.h"

namespace headroom {

/// The ratio a/b of two quantities, with the interval of that ratio.
struct RatioEstimate {
  double ratio = 1;
  std::optional<Interval> interval;  ///< nothing where there are too few pairs
  std::size_t pairs = 0;
};

/// The ratio a/b of two series of values > 0 (std::invalid_argument otherwise), worked out once for intervals
/// at any confidence: paired_ratio and unpaired_series_ratio say how.
class RatioSeries {
 public:
  static RatioSeries paired(std::span<const double> a, std::span<const double> b,
                            std::span<const std::size_t> group_sizes = {});
  static RatioSeries unpaired(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                              std::span<const double> b, std::span<const std::size_t> group_sizes_b);

  RatioEstimate at(double confidence) const;
  /// See SeriesMedian; the mean of both sides where they are not paired.
  double neighbour_correlation() const;
  void expect_correlation(double rho);

 private:
  SeriesMedian above_;                 ///< of ln a, or of ln a - ln b where they are paired
  std::optional<SeriesMedian> below_;  ///< of ln b
  std::size_t pairs_ = 0;

  RatioSeries(SeriesMedian above, std::optional<SeriesMedian> below, std::size_t pairs)
      : above_(std::move(above)), below_(std::move(below)), pairs_(pairs) {}
};

/// exp(sum of weights[i] ln ratios[i]) of independent estimates, as many as weights. The intervals, of one
/// confidence, are put together by their recovered variances (MOVER: Zou and Donner 2008); nothing where one
/// has none. Pairs: the fewest.
RatioEstimate weighted_product(std::span<const RatioEstimate> ratios, std::span<const double> weights);

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
