// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom {

/// An estimate of where a series lies.
enum class Location {
  kMedian,        ///< its variance is made of the signs of the distances from it
  kHodgesLehmann  ///< the median of all means of two values; its variance is made of their ranks
};

/// How much the values of a series resemble their neighbours.
struct Autocorrelation {
  double inflation = 1;  ///< n / n_eff: by how much it multiplies the variance of the location; at least 1
  double first_lag = 0;  ///< correlation of the ranks of neighbours; 0 where the series is too short to say
  double first_lag_bound = 0;  ///< up to where an interval allows for it; from 0 to 1
  double length = 0;           ///< values that the processes gave on average
};

/// By how much autocorrelation multiplies the variance of the median (or of the Hodges-Lehmann estimate):
/// n / n_eff >= 1; 1 for independent values. Differences between processes are not in it: ranks are taken
/// within each process.
///
/// Method. Ranks (mid-ranks for ties), so that spikes and skew do not matter; their autocorrelations r_k,
/// with the bias of estimating around a centre taken off ((n r_1 + 1)/(n - 3): Kendall 1954); from them the
/// correlation of the signs around the median, 2/pi asin(rho) (Sheppard), which is what the variance of a
/// median is made of; the Hodges-Lehmann estimate's is made of the ranks themselves. Two estimates of 1 + 2
/// sum rho_k are made, one from r_1 alone as of an AR(1) series and one from all lags up to the first pair
/// that is not positive (Geyer 1992, initial monotone sequence), and the larger is taken: the first is the
/// steadier for short series, the second sees slow drift under noise. A lag-1 correlation within its own
/// standard error (1/sqrt(n)) counts only in part, or independent series would be widened for nothing.
///
/// The bound is one standard error, sqrt((1 - r_1^2)/n), above r_1 where r_1 lies 2.5/sqrt(n) or more above
/// 0, as it hardly does by chance; less of it from 1.5/sqrt(n) on. Of few values it is at least .2 (6/n)^1.5:
/// they look independent whatever they are. Chosen by simulation (bench/coverage.cpp).
///
/// `group_sizes`: how many consecutive values each process gave; empty means one process. Processes too short
/// to show a correlation (fewer than 8 values in the shortest) are read as one series.
Autocorrelation autocorrelation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                                Location location = Location::kMedian);

/// The same in the memory of `values`, which are all finite; `sorted`: the values in ascending order.
Autocorrelation autocorrelation(std::vector<double>&& values, std::span<const double> sorted,
                                std::span<const std::size_t> group_sizes, Location location);

/// The inflation alone.
double autocorrelation_inflation(std::span<const double> values,
                                 std::span<const std::size_t> group_sizes = {});

/// The inflation of AR(1) series of that length whose neighbours are correlated by `rho`; 1 for rho <= 0.
double first_lag_inflation(double rho, double length, Location location = Location::kMedian);

/// Ranks 1 .. n of the values; ties get the mean of their ranks. `ranks` may be the values themselves.
/// Throws std::invalid_argument where a value is not finite.
void mid_ranks(std::span<const double> values, std::span<double> ranks);

}  // namespace headroom
