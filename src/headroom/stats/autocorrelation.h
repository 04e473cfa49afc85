// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom {

/// Ranks from 1 to n, means for ties. `sorted`: the values in ascending order.
void replace_by_ranks(std::span<double> values, std::span<const double> sorted);

enum class Location {
  kMedian,
  kHodgesLehmann  ///< median of all pairwise means; variance from ranks
};

struct Autocorrelation {
  double inflation = 1;        ///< n / n_eff, factor on the variance of the location; at least 1
  double first_lag = 0;        ///< lag-1 correlation of ranks; 0 if the series is too short
  double first_lag_bound = 0;  ///< upper confidence bound of `first_lag`; 0 to 1
  double length = 0;           ///< mean number of values per process
};

/// Returns n / n_eff within processes.
///
/// Method: rank autocorrelations r_k, corrected for the estimated centre ((n r_1 + 1)/(n - 3): Kendall 1954).
/// A median depends on the correlation of signs, 2/pi asin(rho) (Sheppard). The result is the larger of two
/// estimates of 1 + 2 sum rho_k: of an AR(1) series with r_1, steadier for short series, and over all lags up
/// to the first non-positive pair (Geyer 1992, initial monotone sequence), which detects slow drift. An r_1
/// within its standard error, 1/sqrt(n), counts in proportion.
///
/// first_lag_bound: r_1 plus one standard error, sqrt((1 - r_1^2)/n), for r_1 from 2.5/sqrt(n) on, and part
/// of that error from 1.5/sqrt(n) on; no less than .2 (6/n)^1.5. Chosen by simulation (bench/coverage.cpp).
///
/// `group_sizes`: consecutive values per process; empty means one process. If a process has fewer than 8
/// values, all count as one series.
Autocorrelation autocorrelation(std::span<const double> values, std::span<const std::size_t> group_sizes = {},
                                Location location = Location::kMedian);

/// Reuses the memory of `values`, which must be finite. `sorted`: the values in ascending order.
Autocorrelation autocorrelation(std::vector<double>&& values, std::span<const double> sorted,
                                std::span<const std::size_t> group_sizes, Location location);

double autocorrelation_inflation(std::span<const double> values,
                                 std::span<const std::size_t> group_sizes = {});

/// Inflation of an AR(1) series of `length` values with lag-1 correlation `rho`; 1 for rho <= 0.
double first_lag_inflation(double rho, double length, Location location = Location::kMedian);

/// Writes the ranks 1 .. n, means for ties. `ranks` may alias `values`. Throws std::invalid_argument for
/// non-finite values.
void mid_ranks(std::span<const double> values, std::span<double> ranks);

}  // namespace headroom
