// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom {

/// Replaces each value by its rank from 1 to n, in place to save memory for long series. `sorted` holds the
/// same values in ascending order. Ties get the mean of their ranks.
void replace_by_ranks(std::span<double> values, std::span<const double> sorted);

/// Location estimate of a series.
enum class Location {
  kMedian,        ///< variance from the signs of the distances to it
  kHodgesLehmann  ///< the median of all means of two values; variance from ranks
};

/// Correlation between neighbouring values of a series.
struct Autocorrelation {
  double inflation = 1;        ///< n / n_eff: factor on the variance of the location; at least 1
  double first_lag = 0;        ///< lag-1 correlation of ranks; 0 if the series is too short
  double first_lag_bound = 0;  ///< upper bound that an interval allows for; 0 to 1
  double length = 0;           ///< mean number of values per process
};

/// Returns the factor n / n_eff by which autocorrelation increases the variance of the median (or of the
/// Hodges-Lehmann estimate): at least 1; 1 for independent values. Differences between processes are
/// excluded: ranks are taken within each process.
///
/// Method. Ranks (mid-ranks for ties) make spikes and skew harmless. Their autocorrelations r_k are corrected
/// for the estimated centre ((n r_1 + 1)/(n - 3): Kendall 1954). The variance of a median depends on the
/// correlation of signs around it, 2/pi asin(rho) (Sheppard); that of the Hodges-Lehmann estimate on the
/// ranks. The result is the larger of two estimates of 1 + 2 sum rho_k: from r_1 alone as for an AR(1)
/// series, which is steadier for short series, and from all lags up to the first non-positive pair (Geyer
/// 1992, initial monotone sequence), which sees slow drift under noise. A lag-1 correlation within its
/// standard error (1/sqrt(n)) counts only in part; otherwise independent series would be widened for nothing.
///
/// The bound is r_1 plus one standard error, sqrt((1 - r_1^2)/n), if r_1 is at least 2.5/sqrt(n), which is
/// rare by chance; less of it from 1.5/sqrt(n) on. It is at least .2 (6/n)^1.5, because a few values always
/// look independent. Chosen by simulation (bench/coverage.cpp).
///
/// `group_sizes`: number of consecutive values per process; empty means one process. If the shortest process
/// has fewer than 8 values, all values are read as one series.
Autocorrelation autocorrelation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                                Location location = Location::kMedian);

/// The same, reusing the memory of `values`, which must be finite; `sorted`: the values in ascending order.
Autocorrelation autocorrelation(std::vector<double>&& values, std::span<const double> sorted,
                                std::span<const std::size_t> group_sizes, Location location);

/// The inflation only.
double autocorrelation_inflation(std::span<const double> values,
                                 std::span<const std::size_t> group_sizes = {});

/// Inflation of an AR(1) series of that length with lag-1 correlation `rho`; 1 for rho <= 0.
double first_lag_inflation(double rho, double length, Location location = Location::kMedian);

/// Ranks 1 .. n of the values; ties get the mean of their ranks. `ranks` may alias `values`. Throws
/// std::invalid_argument for values that are not finite.
void mid_ranks(std::span<const double> values, std::span<double> ranks);

}  // namespace headroom
