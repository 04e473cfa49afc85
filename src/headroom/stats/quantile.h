// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace headroom {

/// Quantile p in [0, 1] by linear interpolation between order statistics (numpy's default, Hyndman-Fan type
/// 7). `values` in any order, at least one, all finite; throws std::invalid_argument otherwise.
double quantile(std::span<const double> values, double p);
double median(std::span<const double> values);
/// The same, which brings the values into another order.
double quantile_in_place(std::span<double> values, double p);

/// Median absolute deviation from the median, not scaled.
double median_absolute_deviation(std::span<const double> values);

double mean(std::span<const double> values);
/// Sample standard deviation (n - 1); 0 for one value.
double standard_deviation(std::span<const double> values);

}  // namespace headroom
