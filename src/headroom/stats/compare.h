// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headroom/stats/interval.h"

namespace headroom {

/// Smaller relative differences are rounding, never a change.
inline constexpr double kRounding = 1e-9;

struct RatioEstimate {
  double ratio = 1;
  std::optional<Interval> interval;  ///< nullopt for too few pairs
  std::size_t pairs = 0;
};

/// Ratio a/b of two series, for intervals at any confidence. Throws std::invalid_argument unless all values
/// are > 0.
class RatioSeries {
 public:
  static RatioSeries paired(std::span<const double> a, std::span<const double> b,
                            std::span<const std::size_t> group_sizes = {});
  static RatioSeries unpaired(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                              std::span<const double> b, std::span<const std::size_t> group_sizes_b);
  /// From separate sides, to keep one series in memory at a time.
  static RatioSeries unpaired(SeriesLocation log_a, SeriesLocation log_b, std::size_t pairs);
  /// Location of the logarithms, computed in place.
  static SeriesLocation log_location(std::vector<double> values, std::span<const std::size_t> group_sizes);

  RatioEstimate at(double confidence) const;
  /// Part of the relative half-width at 95 % that more pairs from the same processes can narrow. Paired
  /// series only.
  std::optional<double> sampling_half_width() const;
  /// See SeriesLocation; the mean of both sides if unpaired.
  double neighbour_correlation() const;
  void expect_correlation(double rho);

 private:
  SeriesLocation above_;                 ///< median of ln a, or of ln a - ln b if paired
  std::optional<SeriesLocation> below_;  ///< median of ln b
  std::optional<SeriesLocation> means_;  ///< Hodges-Lehmann estimate of ln a - ln b
  bool means_are_narrower_ = false;
  std::size_t pairs_ = 0;

  RatioSeries(SeriesLocation above, std::optional<SeriesLocation> below, std::optional<SeriesLocation> means,
              std::size_t pairs);

  using IntervalOf = std::optional<Interval> (SeriesLocation::*)(double) const;
  std::optional<Interval> mean_interval(IntervalOf interval, double confidence) const;
  std::optional<Interval> pair_interval(IntervalOf interval, double confidence) const;
  void choose_narrower();
};

/// Returns exp(sum of weights[i] ln ratios[i]) of independent estimates. Combines the intervals, which must
/// have one confidence, by MOVER (Zou and Donner 2008); no interval if one is missing. `pairs` is the
/// smallest number. Throws std::invalid_argument unless there is one weight per ratio.
RatioEstimate weighted_product(std::span<const RatioEstimate> ratios, std::span<const double> weights);

/// Returns exp(median(ln a - ln b)), where a[i] and b[i] come from the same round. Throws
/// std::invalid_argument unless all values are > 0 and both sides have the same length.
///
/// The interval is the narrower at 95 % of two: series_median_interval of the log ratios, and the signed-rank
/// interval (Wilcoxon; Hodges and Lehmann 1963), widened in the same way. The latter estimates the median of
/// all pairwise means, which differs from the median for asymmetric log ratios, so it is extended towards the
/// median by the difference of the two. Without that it covers only .13 to .94 with skew or modes on one side
/// (n = 20 to 300).
///
/// SIM, coverage of nominal 95 % (bench/coverage.cpp, 2,000 each; n = 6 to 300, one process), and the width
/// relative to the median's interval alone from n = 30 on; independent noise on both sides: normal .95 to
/// .99, .89 to .91 (1.25 times fewer pairs for the same width); lognormal .95 to .99, .94; Student's t with 2
/// degrees .95 to .99, .96; two modes .95 to .99, .94 to .99; exponential .95 to .995, .97 to .99; gamma .96
/// to .995, .99 to 1; 5 % spikes .94 to .99. On one side only: exponential .94 to .99, lognormal .94 to .99,
/// spikes, two modes and gamma .95 to .995. Neighbours correlated by .5: .93 to .985, width .96 to 1. By .9,
/// not hidden in other noise: .92 to .97 from n = 20 on, less below. Three processes: .96 to 1 in all of
/// these.
RatioEstimate paired_ratio(std::span<const double> a, std::span<const double> b,
                           std::span<const std::size_t> group_sizes = {}, double confidence = 0.95);

/// Ratio of medians of samples from different rounds. Combines the order-statistic intervals of the log
/// values at confidence sqrt(confidence) each. Assumes that the machine did not change in between: say so in
/// the output.
RatioEstimate unpaired_ratio(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

/// Ratio of medians of two series in order of measurement. Combines the series_median_interval of each side's
/// log values by MOVER: low = d - sqrt((m_a - l_a)^2 + (u_b - m_b)^2), high likewise. Assumes that the
/// machine did not change in between.
RatioEstimate unpaired_series_ratio(std::span<const double> a, std::span<const std::size_t> group_sizes_a,
                                    std::span<const double> b, std::span<const std::size_t> group_sizes_b,
                                    double confidence = 0.95);

/// Values in order of measurement; `rounds` ascends.
struct Series {
  std::vector<double> values;
  std::vector<std::uint32_t> rounds;
  std::vector<std::size_t> group_sizes;
};

/// Values of the rounds common to both series, grouped by process of the first.
struct SeriesPairs {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};
SeriesPairs pairs_of(const Series& a, const Series& b);

std::optional<Interval> exponential(const std::optional<Interval>& logs);

struct SeriesEstimate {
  double median = 0;
  std::optional<Interval> interval;
};
/// Median and its interval; nullopt for an empty series. For positive values the interval is that of the
/// logarithms, so that intervals of times and rates are inverse; none if an end, or its inverse, lies more
/// than ten times the range of the values beyond them (few values with an outlier).
std::optional<SeriesEstimate> estimate(const Series& series);

/// Relative half-width of the median, or of a / b, that more samples from the same processes can narrow.
/// Nullopt without an interval.
std::optional<double> sampling_half_width(const Series& series);
std::optional<double> ratio_sampling_half_width(const Series& a, const Series& b);

/// Over the common rounds; nullopt if there are none.
std::optional<RatioEstimate> ratio_of(const Series& a, const Series& b);

/// Returns p-values adjusted for multiple tests, in the order given: reject if at most alpha. Throws
/// std::invalid_argument for values outside [0, 1].
///
/// Holm (1979), step down: controls the probability of any false rejection, also for dependent tests. Use it
/// for gates.
std::vector<double> holm_adjusted(std::span<const double> p_values);

/// Benjamini and Hochberg (1995), step up: controls the expected share of false rejections for independent or
/// positively dependent tests. Use it for reports.
std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values);

}  // namespace headroom
