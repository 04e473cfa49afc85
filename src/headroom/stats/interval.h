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

/// Relative to the estimate, for the precision goal.
double relative_half_width(const Interval& interval, double estimate);

/// Returns the order-statistic interval of the p-quantile of independent values: binomial coverage of at
/// least `confidence`. Nullopt for too small a sample (the median needs 6 at 95 %). Source: Conover,
/// Practical Nonparametric Statistics, 3.2.
std::optional<Interval> quantile_interval(std::span<const double> values, double p, double confidence = 0.95);

std::optional<Interval> median_interval(std::span<const double> values, double confidence = 0.95);

/// Median (or Hodges-Lehmann estimate) of a series in order of measurement, for intervals at many
/// confidences.
class SeriesLocation {
 public:
  /// Throws std::invalid_argument if `values` is empty or not finite; `group_sizes` as in
  /// series_median_interval.
  explicit SeriesLocation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);
  /// Reuses the memory of `values`.
  explicit SeriesLocation(std::vector<double>&& values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);

  double value() const { return value_; }
  std::size_t count() const { return count_; }
  /// Lag-1 rank correlation within a process; 0 for too few values.
  double neighbour_correlation() const { return autocorrelation_.first_lag; }
  /// Assumes a lag-1 correlation of at least `rho`, such as that of other series.
  void expect_correlation(double rho);

  std::optional<Interval> sampling_interval(double confidence) const;
  std::optional<Interval> interval(double confidence) const;

 private:
  void drop_unreachable_values();

  Location location_;
  std::vector<double> sorted_;  ///< only the middle of a long series, where intervals can end
  std::size_t first_ = 0;       ///< number of values below these
  std::size_t count_ = 0;
  double value_ = 0;
  std::vector<double> process_values_;  ///< empty for a single process
  Autocorrelation autocorrelation_;
};

/// Returns the sign interval of the median of values in order of measurement, widened for autocorrelation and
/// differences between processes. `group_sizes`: consecutive values per process; must add up to the number of
/// values (std::invalid_argument); empty means one process.
///
/// Method: ranks (n + 1)/2 -+ z sqrt(n)/2 (Conover 3.2, normal approximation, good to 0.02 from n = 6 on),
/// interpolated between the order statistics. z grows by sqrt(n / n_eff), and by 1 + 14/(n_eff - 1)^2 because
/// n_eff is an estimate. n / n_eff is Autocorrelation's inflation, or that of first_lag_bound if larger.
/// Ranks beyond the sample extend each side in proportion. With several processes the interval covers the
/// spread of their medians: up to five, median +- Student's t times the standard error; from six on, their
/// sign interval.
///
/// Nullopt for too small n (6 at 95 %), or if neighbours may be correlated by 1, which means drift (so do 6
/// of 100 series of 6 independent values, and 2 of 100 series of 8).
///
/// SIM, coverage of nominal 95 % if there is an interval (bench/coverage.cpp, 2,000 each; normal, lognormal,
/// exponential, gamma): independent, n = 6 to 300: .95 to .995; AR(1), rho .3 and .5, n = 6 to 300: .93 to
/// .98; rho .7 and .9, n = 20 to 300: .92 to .97. Student's t with 2 degrees, 5 % spikes of three times the
/// time, and two modes added to the AR(1): .96 to .995 independent, .94 to .99 at rho .3, .92 to .985 at rho
/// .5. Mean width relative to the plain sign interval, independent: 2.5 at n = 6, 1.8 at 10, 1.3 at 20, 1.1
/// at 30, 0.97 to 1 from 50 on (median 1.5, 1.1, 1.1, 1.05); 3 to 10 with spikes in fewer than 30 values.
///
/// Limits: fewer than 20 values of one process cannot distinguish a correlation of .7 or .9 from 0: rho .7
/// gives .88 to .93 at n = 6 to 12, rho .9 .72 to .86. Spikes, heavy tails and modes that hide rho .7 and .9:
/// .83 to .95 from n = 20 on. Three processes: .97 to .99 for normal noise. 2 to 8 processes that differ by
/// any amount: .94 to .995, but few are expensive: without differences, 3 make the interval 1.7 times as wide
/// as pooling, 5 make it 1.3 times (2: five times).
std::optional<Interval> series_median_interval(std::span<const double> values,
                                               std::span<const std::size_t> group_sizes = {},
                                               double confidence = 0.95);

/// Returns the interval of any quantile p in (0, 1); series_median_interval for the median. The ranks contain
/// the quantile of n_eff independent values (binomial_ranks), read at the same shares of the n order
/// statistics. n_eff is that of the median, where correlation is strongest, so tail intervals are rather too
/// wide. With several processes it covers the spread of their quantiles (Student's t). Nullopt if n_eff
/// values have no rank on one side: p95 needs 73 independent values, p99 needs 368.
///
/// SIM, coverage of the intervals given (bench/coverage.cpp, 2,000 each; lognormal, AR(1) with rho 0, .5 and
/// .9; p75, p95, p99; n = 20 to 3,000; one process and three): .96 to 1.00. Exceptions, at most 2.4 % of all
/// series: p75 of rho .9 covers .40 to .93 in the 1 to 6 of 100 series of 20 to 100 values (three processes:
/// 1 to 32) that have an interval, p75 of rho .5 covers .91 in the 20 of 100 at n = 20.
std::optional<Interval> series_quantile_interval(std::span<const double> values, double p,
                                                 std::span<const std::size_t> group_sizes = {},
                                                 double confidence = 0.95);

/// The part of series_median_interval that more samples from the same processes can narrow: for deciding
/// whether to continue sampling, not for display.
std::optional<Interval> sampling_interval(std::span<const double> values,
                                          std::span<const std::size_t> group_sizes = {},
                                          double confidence = 0.95);

/// Returns n_eff (1 <= n_eff <= n): n over the inflation by autocorrelation and by differences between
/// processes (mean square between over within, on ranks). For display; series_median_interval treats
/// processes differently.
double effective_sample_size(std::span<const double> values, std::span<const std::size_t> group_sizes = {});

/// Student's t interval of two or more values around `center`.
Interval student_interval(std::span<const double> each, double center, double confidence);

/// Share of samples of some kind: the mean of values from 0 to 1 in order of measurement.
///
/// Method: Wilson's score interval (1927) of n_eff samples; rather too wide for values strictly between 0 and
/// 1. n_eff = n (1 - rho)/(1 + rho) for a positive lag-1 correlation rho, as for a two-state Markov chain.
/// With several processes it covers the spread of their shares (Student's t).
class SeriesShare {
 public:
  /// `group_sizes`: values per process, or empty. Throws std::invalid_argument if it does not add up to the
  /// number of values, or if `values` is empty or outside [0, 1].
  explicit SeriesShare(std::vector<double> values, std::span<const std::size_t> group_sizes = {});

  double value() const { return share_; }
  Interval interval(double confidence) const;
  void expect_correlation(double rho);

 private:
  double share_ = 0, count_ = 0, correlation_ = 0;
  std::vector<double> process_shares_;  ///< empty for a single process
};

/// Interval of a - b: Newcombe's hybrid score method (1998, method 10).
Interval share_difference_interval(const SeriesShare& a, const SeriesShare& b, double confidence);

/// Run-to-run spread of a program on a machine (memory placement, machine state): standard deviation of the
/// logarithms of the runs' medians.
struct RunSpread {
  double log_sd = 0;
  std::size_t degrees = 0;
};

/// Pools the spread over groups of runs, each of one program. Throws std::invalid_argument for values not
/// above 0. Nullopt if no group has two runs.
std::optional<RunSpread> run_spread(std::span<const std::vector<double>> groups);

/// Weighted by degrees of freedom.
std::optional<RunSpread> pooled(const std::optional<RunSpread>& a, const std::optional<RunSpread>& b);

/// Half-width of the interval of the difference of mean logarithms of `a` and `b` runs (Student's t).
double run_half_width(const RunSpread& spread, std::size_t a, std::size_t b, double confidence);

}  // namespace headroom
