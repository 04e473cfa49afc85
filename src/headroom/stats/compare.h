// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
  /// The same of two sides of which each is worked out by itself, so that there need not be memory for both.
  static RatioSeries unpaired(SeriesLocation log_a, SeriesLocation log_b, std::size_t pairs);
  /// Of the logarithms, which take the place of `values`.
  static SeriesLocation log_location(std::vector<double> values, std::span<const std::size_t> group_sizes);

  RatioEstimate at(double confidence) const;
  /// Relative half-width at 95 % as far as more pairs from the same processes can narrow it. Of paired
  /// series.
  std::optional<double> sampling_half_width() const;
  /// See SeriesLocation; the mean of both sides where they are not paired.
  double neighbour_correlation() const;
  void expect_correlation(double rho);

 private:
  SeriesLocation above_;                 ///< median of ln a, or of ln a - ln b where they are paired
  std::optional<SeriesLocation> below_;  ///< median of ln b
  std::optional<SeriesLocation> means_;  ///< Hodges-Lehmann estimate of ln a - ln b
  bool means_are_narrower_ = false;
  std::size_t pairs_ = 0;

  RatioSeries(SeriesLocation above, std::optional<SeriesLocation> below, std::optional<SeriesLocation> means,
              std::size_t pairs);

  using IntervalOf = std::optional<Interval> (SeriesLocation::*)(double) const;
  std::optional<Interval> of_means(IntervalOf interval, double confidence) const;
  std::optional<Interval> of_pairs(IntervalOf interval, double confidence) const;
  void choose_narrower();
};

/// exp(sum of weights[i] ln ratios[i]) of independent estimates, as many as weights. The intervals, of one
/// confidence, are put together by their recovered variances (MOVER: Zou and Donner 2008); nothing where one
/// has none. Pairs: the fewest.
RatioEstimate weighted_product(std::span<const RatioEstimate> ratios, std::span<const double> weights);

/// a[i] and b[i] come from the same round. ratio = exp(median(ln a - ln b)). All values > 0 and as many of
/// each; std::invalid_argument otherwise.
///
/// The interval is the narrower at 95 % of two: series_median_interval of the log ratios, and what the signed
/// ranks say (Wilcoxon; Hodges and Lehmann 1963), widened for correlation and processes in the same way. That
/// one is around the median of all means of two log ratios, which is their median only where they are
/// symmetric. Two sides of the same noise are, whatever its shape; where only one side has modes or a long
/// tail they are not. So it is made as much longer, on the side of the median, as the two estimates differ.
///
/// SIM, coverage of nominal 95 % (bench/coverage.cpp, 2,000 each; n = 6 to 300, one process), and the width
/// over that of the median's alone from n = 30 on; independent noise on both sides: normal .95 to .99, .89 to
/// .91 (1.25 times fewer pairs for the same width); lognormal .95 to .99, .94; Student's t with 2 degrees .95
/// to .99, .96; two modes .95 to .99, .94 to .99; exponential .95 to .995, .97 to .99; gamma .96 to .995, .99
/// to 1; 5 % spikes .94 to .99. On one side only: exponential .94 to .99, lognormal .94 to .99, spikes, two
/// modes and gamma .95 to .995. Neighbours correlated by .5: .93 to .985, width .96 to 1. By .9, where the
/// noise is not hidden in another: .92 to .97 from n = 20 on, less below (series_median_interval). Three
/// processes: .96 to 1 in all of these.
///
/// The signed ranks alone would be narrower (.84 with normal noise) but hold the median in .13 to .94 of the
/// cases where only one side is skewed or has modes (n = 20 to 300), and taken only where their interval
/// holds the sample's median in .78 to .96.
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
