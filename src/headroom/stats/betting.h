// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headroom/stats/interval.h"

namespace headroom {

/// A sequential test of the middle of values that lie symmetrically around it, good at any number of looks:
/// an e-process.
///
/// Against the claim that the middle is at most theta one bets a share of what one has on each value's lying
/// above it: the stake grows by 2 / (1 + exp(-2 b x)), x being the distance of the value from theta in scales
/// of the values before it, cut off at 3 scales, and b how boldly one bets. The mean of that factor over x
/// and -x is 1, so the stake is a martingale where values are symmetric around theta, and falls where they
/// lie lower. It reaches 1/p with a chance of at most p, at whatever moment one looks or stops (Ville 1939).
/// Nothing else is asked of the values: no variance, no distribution, and no independence where it is the
/// random order of a round that gives each its sign. The stake is shared among several boldnesses (.05 to
/// .8), which is a martingale again; the scale is learned from the values before, at 5 of them and at each
/// half as many more.
class Bets {
 public:
  /// In the order measured; all finite, std::invalid_argument otherwise. `inflation` (at least 1): by how
  /// much the variance of a sum of such values is larger than that of independent ones.
  explicit Bets(std::span<const double> values, double inflation = 1);

  /// 1 over the stake, at most 1: one-sided p-value of the claim that the middle lies above (below) `theta`.
  double p_above(double theta) const;
  double p_below(double theta) const;
  /// The values that neither claim rejects at the level `tail`; nothing where none is rejected on some side.
  /// Right for all moments together with a chance of 1 - 2 tail.
  std::optional<Interval> interval(double tail) const;

 private:
  struct Bet {
    double value;
    double scale;  ///< 0: not known yet
  };
  std::vector<Bet> bets_;
  double inflation_;

  double p_value(double theta, double sign) const;
};

}  // namespace headroom
