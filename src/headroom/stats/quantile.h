// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace headroom {

/// The p-quantile, p in [0, 1], by linear interpolation between order statistics (numpy's default,
/// Hyndman-Fan type 7). `values`: in any order, at least one, all finite; throws std::invalid_argument
/// otherwise.
double quantile(std::span<const double> values, double p);
double median(std::span<const double> values);
/// The same, reordering the values.
double quantile_in_place(std::span<double> values, double p);

/// The standard deviation of a normal distribution over its median absolute deviation.
inline constexpr double kDeviationPerMad = 1.4826;

/// Median absolute deviation from the median, unscaled.
double median_absolute_deviation(std::span<const double> values);

double mean(std::span<const double> values);
/// Sample standard deviation (n - 1); 0 for one value.
double standard_deviation(std::span<const double> values);

/// Number of Walsh averages of `count` values: means of two values, each also with itself.
double walsh_count(std::size_t count);

/// The Walsh average at a rank from 1 to walsh_count(); linear between ranks, clamped to the first and last.
/// `sorted`: ascending, not empty, all finite. Found by bisection in at most 60 counts without storing the
/// averages (15 us for 300 values, 0.5 ms for 10,000).
double walsh_average(std::span<const double> sorted, double rank);

/// z with P(Z <= z) = p for a standard normal Z. Throws std::invalid_argument unless 0 < p < 1.
double normal_quantile(double p);

/// t with P(T <= t) = p for Student's T with `degrees` >= 1 degrees of freedom; 0 < p < 1.
double student_t_quantile(double p, std::size_t degrees);

/// Ranks, from 1, of the order statistics around a quantile.
struct RankPair {
  std::size_t low = 0;
  std::size_t high = 0;
};

/// Ranks of the order statistics of n independent values that contain the p-quantile (0 < p < 1) and miss it
/// with probability at most `tail` on each side: P(B < low) <= tail and P(B >= high) <= tail for B binomial
/// (n, p). low is 0 or high is n + 1 if no order statistic is far enough out.
RankPair binomial_ranks(std::size_t n, double p, double tail);

}  // namespace headroom
