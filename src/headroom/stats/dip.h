// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace headroom {

/// Hartigan and Hartigan's dip: how far a sample is from having one mode, and where it is furthest.
struct Dip {
  double statistic = 0;  ///< largest difference to the nearest distribution with one mode: 1/(2n) to 1/4
  /// The gap that makes the dip: a mode ends at value `valley_low`, and another begins at `valley_high`. Both
  /// are 0 where nothing is further from one mode than single values are.
  std::size_t valley_low = 0, valley_high = 0;
};

/// `sorted`: ascending, finite, at least one value; std::invalid_argument otherwise.
/// Source: J. A. Hartigan and P. M. Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985);
/// the steps are those of P. M. Hartigan, Algorithm AS 217 (1985), with the greatest convex minorant under
/// the lower corners and the least concave majorant over the upper corners of the distribution function.
Dip dip_of(std::span<const double> sorted);

/// The dip that 0.5 % of samples of `count` values of a uniform distribution exceed. Of the distributions
/// with one mode the uniform one has (in the limit) the largest dips: the others exceed it far more seldom.
/// Fewer than 8 values get 1/4, which nothing exceeds.
double dip_critical(std::size_t count);

}  // namespace headroom
