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

/// Half-width relative to the estimate, compared with the precision goal.
double relative_half_width(const Interval& interval, double estimate);

/// Order-statistic interval of the p-quantile of independent values: the pair of order statistics with a
/// binomial coverage of at least `confidence`. Nullopt for too small a sample (the median needs 6 at 95 %).
/// Source: Conover, Practical Nonparametric Statistics, 3.2.
std::optional<Interval> quantile_interval(std::span<const double> values, double p, double confidence = 0.95);

/// The same for the median (sign interval).
std::optional<Interval> median_interval(std::span<const double> values, double confidence = 0.95);

/// The median (or the Hodges-Lehmann estimate) of a series in order of measurement, computed once for
/// series_median_interval and sampling_interval at many confidences.
class SeriesLocation {
 public:
  /// Values: at least one, all finite; `group_sizes` as in series_median_interval. Throws
  /// std::invalid_argument.
  explicit SeriesLocation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);
  /// The same, reusing the memory of `values`.
  explicit SeriesLocation(std::vector<double>&& values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);

  double value() const { return value_; }
  std::size_t count() const { return count_; }
  /// Lag-1 rank correlation within a process; 0 for too few values.
  double neighbour_correlation() const { return autocorrelation_.first_lag; }
  /// Assumes a lag-1 correlation of at least `rho`, learned from other series of the same session, which know
  /// more than one short series.
  void expect_correlation(double rho);

  std::optional<Interval> sampling_interval(double confidence) const;
  std::optional<Interval> interval(double confidence) const;

 private:
  void keep_what_intervals_reach();

  Location location_;
  std::vector<double> sorted_;  ///< of a long series only the middle, where intervals can end
  std::size_t first_ = 0;       ///< number of values below these
  std::size_t count_ = 0;       ///< of all
  double value_ = 0;
  std::vector<double> process_values_;  ///< per process; empty for a single process
  Autocorrelation autocorrelation_;
};

/// Sign interval of the median of values in order of measurement, widened for autocorrelation and for
/// differences between processes, which the sign test ignores. `group_sizes`: number of consecutive values
/// per process; must add up to the number of values (std::invalid_argument); empty means one process.
///
/// Method. The sign interval has the ranks (n + 1)/2 -+ z sqrt(n)/2 (Conover 3.2, normal approximation, good
/// to 0.02 from n = 6 on), interpolated between the order statistics. z grows by sqrt(n / n_eff), and by 1 +
/// 14/(n_eff - 1)^2 because n_eff is an estimate. n / n_eff is the inflation by autocorrelation, or that of
/// the upper bound of the correlation (Autocorrelation). If the ranks leave the sample, each side is extended
/// in proportion, because the range of a few correlated values often misses the median. With several
/// processes the interval also covers the spread of their medians: up to five, median +- Student's t times
/// the standard error; from six on, their sign interval.
///
/// Nullopt for too small n (6 at 95 %), or if neighbours may be correlated by 1: then the series is drift (6
/// of 100 series of 6 independent values look so, 2 of 100 series of 8).
///
/// SIM, coverage of nominal 95 % if there is an interval (bench/coverage.cpp, 2,000 each; normal, lognormal,
/// exponential, gamma): independent, n = 6 to 300: .95 to .995; AR(1), rho .3 and .5, n = 6 to 300: .93 to
/// .98; rho .7 and .9, n = 20 to 300: .92 to .97. Student's t with 2 degrees, 5 % spikes of three times the
/// time, and two modes drawn beside the AR(1): .96 to .995 independent, .94 to .99 at rho .3, .92 to .985 at
/// rho .5. Mean width relative to the plain sign interval, independent: 2.5 at n = 6, 1.8 at 10, 1.3 at 20,
/// 1.1 at 30, 0.97 to 1 from 50 on (the plain one has whole ranks). Most are narrower (median 1.5, 1.1, 1.1,
/// 1.05); a few that look correlated by chance are far wider, and with spikes in fewer than 30 values they
/// reach the spikes (mean 3 to 10).
///
/// Limits: fewer than 20 values of one process cannot tell a correlation of .7 or .9 from none, and no narrow
/// interval covers both: rho .7 gives .88 to .93 at n = 6 to 12, rho .9 .72 to .86. Spikes, heavy tails and
/// modes that hide rho .7 and .9: .83 to .95 from n = 20 on. Three processes cover in all of these: .97 to
/// .99 for normal noise. 2 to 8 processes that differ by any amount: .94 to .995, but few are expensive: if
/// they do not differ at all, 3 make the interval 1.7 times as wide as pooling, 5 make it 1.3 times (2: five
/// times). More processes narrow it then, not more samples.
std::optional<Interval> series_median_interval(std::span<const double> values,
                                               std::span<const std::size_t> group_sizes = {},
                                               double confidence = 0.95);

/// The same for any quantile p in (0, 1). The ranks contain the quantile of n_eff independent values
/// (binomial_ranks), read at the same shares of the n order statistics. n_eff = n over the inflation at the
/// median, where correlation is strongest: in the tails the interval is rather too wide. With several
/// processes it also covers the spread of their quantiles (Student's t). Nullopt if n_eff values have no rank
/// on one side: p95 needs 73 independent values, p99 needs 368.
///
/// For the median it is series_median_interval.
///
/// SIM, coverage of the intervals given (bench/coverage.cpp, 2,000 each; lognormal, AR(1) with rho 0, .5 and
/// .9; p75, p95, p99; n = 20 to 3,000; one process and three): .96 to 1.00. Exceptions are rare, at most 2.4
/// % of all series: p75 of rho .9 covers .40 to .93 in the 1 to 6 of 100 series of 20 to 100 values (three
/// processes: 1 to 32) that have an interval, p75 of rho .5 covers .91 in the 20 of 100 at n = 20.
std::optional<Interval> series_quantile_interval(std::span<const double> values, double p,
                                                 std::span<const std::size_t> group_sizes = {},
                                                 double confidence = 0.95);

/// The part of series_median_interval that more samples from the same processes can narrow: without the
/// differences between processes. For deciding whether to continue sampling; not for display.
std::optional<Interval> sampling_interval(std::span<const double> values,
                                          std::span<const std::size_t> group_sizes = {},
                                          double confidence = 0.95);

/// Effective number of independent values (1 <= n_eff <= n): n divided by the inflation by autocorrelation
/// and by differences between processes (mean square between over mean square within, on ranks). For display;
/// series_median_interval treats processes differently.
double effective_sample_size(std::span<const double> values, std::span<const std::size_t> group_sizes = {});

/// Student's t interval of the values of two or more processes, centred at the pooled value.
Interval student_interval(std::span<const double> each, double center, double confidence);

/// The share of samples of some kind, with intervals at any confidence. Each sample, in order of measurement,
/// counts from 0 to 1; their mean is the share.
///
/// Method: Wilson's score interval (1927) of n_eff samples; rather too wide for values between 0 and 1, which
/// vary less. n_eff = n (1 - rho)/(1 + rho) for a positive lag-1 correlation rho, as for a two-state Markov
/// chain. With several processes the interval also covers the spread of their shares (Student's t).
class SeriesShare {
 public:
  /// Values: at least one, all from 0 to 1; `group_sizes` (values per process) add up to their number or are
  /// empty. Throws std::invalid_argument.
  explicit SeriesShare(std::vector<double> values, std::span<const std::size_t> group_sizes = {});

  double value() const { return share_; }
  Interval interval(double confidence) const;
  /// See SeriesLocation.
  void expect_correlation(double rho);

 private:
  double share_ = 0, count_ = 0, correlation_ = 0;
  std::vector<double> process_shares_;  ///< empty where there is one
};

/// The interval of a - b, by Newcombe's hybrid score method (1998, method 10).
Interval share_difference_interval(const SeriesShare& a, const SeriesShare& b, double confidence);

/// Run-to-run spread of a program on a machine: the standard deviation of the logarithms of the runs'
/// medians, and its degrees of freedom. Samples of a single run do not show it (memory placement, state of
/// the machine).
struct RunSpread {
  double log_sd = 0;
  std::size_t degrees = 0;
};

/// Pooled variance within groups of runs, each group of one program. Values > 0 (std::invalid_argument).
/// Nullopt if no group has two runs.
std::optional<RunSpread> run_spread(std::span<const std::vector<double>> groups);

/// Pools two estimates by their degrees of freedom.
std::optional<RunSpread> pooled(const std::optional<RunSpread>& a, const std::optional<RunSpread>& b);

/// Half-width of the interval of the difference of mean logarithms of `a` and `b` runs (Student's t).
double run_half_width(const RunSpread& spread, std::size_t a, std::size_t b, double confidence);

}  // namespace headroom
