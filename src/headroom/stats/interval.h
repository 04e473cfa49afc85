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

/// The median (or the Hodges-Lehmann estimate) of values in the order in which they were measured, with what
/// its intervals at any confidence are made of: series_median_interval and sampling_interval, worked out once
/// for many confidences.
class SeriesLocation {
 public:
  /// All finite, at least one; `group_sizes` as in series_median_interval. std::invalid_argument otherwise.
  explicit SeriesLocation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);
  /// The same in the memory of `values`: of very many there need not be two copies.
  explicit SeriesLocation(std::vector<double>&& values, std::span<const std::size_t> group_sizes = {},
                          Location location = Location::kMedian);

  double value() const { return value_; }
  std::size_t count() const { return count_; }
  /// Of the ranks of neighbours within a process; 0 where there are too few values to say.
  double neighbour_correlation() const { return autocorrelation_.first_lag; }
  /// Takes neighbours to be correlated by at least `rho`, which was learned from elsewhere: other series of
  /// the same session tell more about what the machine does to neighbours than one short series can.
  void expect_correlation(double rho);

  std::optional<Interval> sampling_interval(double confidence) const;
  std::optional<Interval> interval(double confidence) const;

 private:
  void keep_what_intervals_reach();

  Location location_;
  std::vector<double> sorted_;  ///< of very many only those in the middle that an interval can end at
  std::size_t first_ = 0;       ///< how many of all lie below these
  std::size_t count_ = 0;       ///< of all
  double value_ = 0;
  std::vector<double> process_values_;  ///< of each process; empty where there is one
  Autocorrelation autocorrelation_;
};

/// Sign interval of the median of values in the order in which they were measured, widened for what the sign
/// test takes for granted and benchmarks do not give: neighbours that are alike (autocorrelation) and
/// processes that differ from each other. `group_sizes` tells how many consecutive values each process gave
/// and must add up to the number of values (std::invalid_argument otherwise); empty means one process.
///
/// Method. The sign interval has the ranks (n + 1)/2 -+ z sqrt(n)/2 (Conover 3.2, the normal approximation,
/// good to 0.02 from n = 6 on), read off the n order statistics by linear interpolation. z grows by the
/// square root of n / n_eff, and by 1 + 14/(n_eff - 1)^2, for n_eff is an estimate. n / n_eff is the
/// inflation by autocorrelation, or that of neighbours correlated by the upper bound of what they seem to be
/// (Autocorrelation). Where this leads beyond the smallest and the largest value, each side is as much longer
/// than to there: the range of few values that resemble each other often leaves the median out. With several
/// processes the interval also covers what their medians say by themselves: up to five, median +- Student's t
/// times their standard error; from six on, their own sign interval.
///
/// Nothing where n is too small (6 at 95 %) or neighbours are correlated by 1 as far as one can tell: then
/// the series is drift (of 6 independent values 6 in 100 look so, of 8 2).
///
/// SIM, coverage of nominal 95 % where there is an interval (bench/coverage.cpp, 2,000 each; normal,
/// lognormal, exponential, gamma): independent, n = 6 to 300: .95 to .995; AR(1), rho .3 and .5, n = 6 to
/// 300: .93 to .98; rho .7 and .9, n = 20 to 300: .92 to .97. Student's t with 2 degrees, 5 % spikes of three
/// times the time, and two modes drawn beside the AR(1): .96 to .995 independent, .94 to .99 at rho .3, .92
/// to .985 at rho .5. Mean width over the plain sign interval's, independent: 2.5 at n = 6, 1.8 at 10, 1.3 at
/// 20, 1.1 at 30, 0.97 to 1 from 50 on (the plain one has whole ranks); most are narrower
/// (median 1.5, 1.1, 1.1, 1.05), a few that look correlated by chance far wider, and with spikes in fewer
/// than 30 values these reach the spikes (mean 3 to 10).
///
/// Where it falls short: fewer than 20 values of one process cannot tell correlation by .7 or .9 from none,
/// and no narrow interval holds for all: rho .7 gives .88 to .93 at n = 6 to 12, rho .9 .72 to .86. Spikes,
/// heavy tails and modes that hide rho .7 and .9 within them: .83 to .95 from n = 20 on. Three processes hold
/// in all of these: .97 to .99 for normal noise. 2 to 8 processes that differ by any amount: .94 to .995, but
/// with few of them the price is high: where they do not differ at all, 3 make it 1.7 times as wide as
/// pooling, 5 make it 1.3 times (2: five times). More processes, not more samples, is what narrows it then.
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
/// Of the median it is series_median_interval.
///
/// SIM, coverage of those that are given (bench/coverage.cpp, 2,000 each; lognormal, AR(1) with rho 0, .5 and
/// .9; p75, p95, p99; n = 20 to 3,000; one process and three): .96 to 1.00. Where it falls short hardly any
/// is given, and a wrong one of 2.4 % of all series at most: p75 of rho .9 gives .40 to .93 of the 1 to 6 in
/// 100 series of 20 to 100 values (three processes: 1 to 32) that have one, p75 of rho .5 .91 of the 20 in
/// 100 at n = 20.
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
