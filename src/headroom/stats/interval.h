// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headroom/stats/autocorrelation.h"

namespace headroom {

struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0.95;

  bool contains(double value) const { return low <= value && value <= high; }
};

/// Half the width over the magnitude of the estimate: what the precision goal is held against.
double relative_half_width(const Interval& interval, double estimate);

/// Order-statistic interval of the p-quantile of independent values: the pair of order statistics whose
/// binomial coverage is at least `confidence`. Nothing where the sample is too small (the median needs 6 at
/// 95 %). Source: Conover, Practical Nonparametric Statistics, 3.2.
std::optional<Interval> quantile_interval(std::span<const double> values, double p, double confidence = 0.95);

/// The same for the median (the sign interval).
std::optional<Interval> median_interval(std::span<const double> values, double confidence = 0.95);

/// The median of values in the order in which they were measured, with what its intervals at any confidence
/// are made of: series_median_interval and sampling_interval, worked out once for many confidences.
class SeriesMedian {
 public:
  /// All finite, at least one; `group_sizes` as in series_median_interval. std::invalid_argument otherwise.
  explicit SeriesMedian(std::span<const double> values, std::span<const std::size_t> group_sizes = {});

  double value() const;
  /// Of the ranks of neighbours within a process; 0 where there are too few values to say.
  double neighbour_correlation() const { return autocorrelation_.first_lag; }
  /// Takes neighbours to be correlated by at least `rho`, which was learned from elsewhere: other series of
  /// the same session tell more about what the machine does to neighbours than one short series can.
  void expect_correlation(double rho);

  std::optional<Interval> sampling_interval(double confidence) const;
  std::optional<Interval> interval(double confidence) const;

 private:
  std::vector<double> sorted_;
  std::vector<double> process_medians_;
  Autocorrelation autocorrelation_;
};

/// Sign interval of the median of values in the order in which they were measured, widened for what the sign
/// test takes for granted and benchmarks do not give: neighbours that are alike (autocorrelation) and
/// processes that differ from each other. `group_sizes` tells how many consecutive values each process gave
/// and must add up to the number of values (std::invalid_argument otherwise); empty means one process.
///
/// Method. n_eff = n / autocorrelation_inflation(). The sign interval of n_eff values has the ranks
/// (n_eff + 1)/2 -+ z sqrt(n_eff)/2 (Conover 3.2, the normal approximation, good to 0.02 from n = 6 on); they
/// are read off the n order statistics at the same quantiles, (n + 1)/(n_eff + 1) times the rank, by linear
/// interpolation, and never beyond the smallest and the largest value. z grows by 1 + 24/(n_eff - 1)^2, for
/// n_eff is an estimate. With several processes the interval also covers what their medians say by
/// themselves: up to five, median +- Student's t times their standard error; from six on, their own sign
/// interval.
///
/// Nothing where n is too small (6 at 95 %) or n_eff is under 2: then the series is drift.
///
/// Measured coverage of nominal 95 % (bench/coverage.cpp; normal, lognormal, exponential, gamma, 5 % spikes
/// of three times the time): independent, n >= 20: .95 to .97, mean width over that of the plain sign
/// interval 1.16 to 1.23 at n = 20, 1.08 at 30, 0.98 from 50 on (the plain one has whole ranks). AR(1), n =
/// 20 to 200: rho .3 and .5: .94 to .96; rho .7: .92 to .95. Where it falls short: rho .9 gives .77, .92, .93
/// at n = 20, 50, 200; rho .5 at n under 12 gives .82 to .91; rho .7 with spikes inside gives .91 to .93.
/// Spikes in fewer than 30 values now and then put the whole range into the interval. 2 to 8 processes that
/// differ by any amount: .94 to .99, but with few of them the price is high: where they do not differ at all,
/// 3 make it 1.7 times as wide as pooling, 5 make it 1.3 times (2: five times). More processes, not more
/// samples, is what narrows it then.
std::optional<Interval> series_median_interval(std::span<const double> values,
                                               std::span<const std::size_t> group_sizes = {},
                                               double confidence = 0.95);

/// The same for any quantile p in (0, 1) of values in the order in which they were measured: the ranks are
/// those that hold the quantile of n_eff independent values (binomial_ranks), read off the n order statistics
/// at the same shares. n_eff = n over the inflation by autocorrelation at the median, where neighbours agree
/// most: in the tails they agree less, so that the interval is rather too wide. With several processes it
/// also covers what their own quantiles say (Student's t). Nothing where n_eff values are too few for a rank
/// on both sides: p95 needs 73 that are independent, p99 needs 368.
///
/// SIM (600 repetitions each; lognormal, AR(1) with rho 0, .5 and .9; p50, p75, p95, p99; n = 30 to 1,000;
/// one process, and three that differ by nothing or by as much as their values do): coverage of those that
/// are given .93 to 1.00. Where it falls short: rho .9 in one process under 300 values (p50 .65 at 30, .86 at
/// 100, p75 .77 at 100), of which one in five to two in three are given; three processes have .95 and more
/// there.
std::optional<Interval> series_quantile_interval(std::span<const double> values, double p,
                                                 std::span<const std::size_t> group_sizes = {},
                                                 double confidence = 0.95);

/// The part of series_median_interval that more samples from the same processes can narrow: what their
/// medians differ by is left out. For deciding whether to go on sampling; not for showing.
std::optional<Interval> sampling_interval(std::span<const double> values,
                                          std::span<const std::size_t> group_sizes = {},
                                          double confidence = 0.95);

/// Number of independent values that carry as much about the median as `values` do (1 <= n_eff <= n): n over
/// the inflation by autocorrelation, and over that by differences between processes (mean square between over
/// mean square within, on ranks). For showing; series_median_interval treats the processes as told there.
double effective_sample_size(std::span<const double> values, std::span<const std::size_t> group_sizes = {});

/// Student's t on what each of several processes came to (two at least), laid around what all of them came
/// to.
Interval student_interval(std::span<const double> each, double center, double confidence);

}  // namespace headroom
