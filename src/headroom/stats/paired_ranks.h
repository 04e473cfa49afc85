// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headroom/stats/interval.h"

namespace headroom {

/// By how much the values of `b` lie above those of `a`, a[i] and b[i] having been measured in one round in
/// an order that a coin chose: the rank sum test (Mann and Whitney 1947), with what the coins alone would
/// have made of it as the distribution that it is held against.
///
/// All values are ranked together, b less theta, and T is the sum of the rounds' differences of ranks. Where
/// b lies theta above a and nothing else differs, each round's difference had the other sign just as well,
/// whatever the moments of the session were like and however much they resemble their neighbours: T is one
/// of 2^n equally likely sums (Fisher's randomization). They are counted for up to 25 rounds, and normal
/// beyond. So the test is as strong as Mann and Whitney's where values are independent, outliers and skew
/// included, stronger where rounds have something in common, and right in both.
///
/// `inflation` (at least 1) multiplies the variance of T, for differences that do resemble their neighbours.
class PairedRanks {
 public:
  /// As many of each, at least one, all finite; std::invalid_argument otherwise.
  PairedRanks(std::span<const double> a, std::span<const double> b, double inflation = 1);

  /// The median of all differences of a value of b and one of a (Hodges and Lehmann 1963): where T is 0.
  double middle() const;
  /// One-sided p-value of the claim that b lies more (less) than theta above a.
  double p_above(double theta) const;
  double p_below(double theta) const;
  /// The differences that neither claim rejects at the level `tail`; nothing where 2^-n > tail.
  std::optional<Interval> interval(double tail) const;

 private:
  std::vector<double> a_, b_;
  std::vector<std::size_t> order_a_, order_b_;  ///< places of the values by size
  double inflation_;
  double lowest_ = 0, highest_ = 0;  ///< of all differences

  std::vector<double> rank_differences(double theta) const;
  double statistic(double theta) const;
  double p_value(double theta, double sign) const;
};

/// Fewest rounds of which anything can be claimed at that level: 2^-n <= tail.
std::size_t fewest_pairs(double tail);

}  // namespace headroom
