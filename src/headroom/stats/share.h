// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headroom/stats/interval.h"

namespace headroom {

/// The share of samples that are of some kind, with intervals at any confidence. Each sample, in the order
/// measured, counts as 1 where it is and 0 where it is not, or as something between: their mean is the share.
///
/// Method: Wilson's score interval (1927) of n_eff samples; what lies between 0 and 1 varies less, so that it
/// is rather too wide there. n_eff = n (1 - rho)/(1 + rho), rho the correlation of neighbours where it is
/// positive, as of a Markov chain with two states. With several processes the interval also covers what their
/// own shares say (Student's t).
class SeriesShare {
 public:
  /// At least one value, all from 0 to 1; `group_sizes` (values that each process gave) add up to them or are
  /// empty. std::invalid_argument otherwise.
  explicit SeriesShare(std::vector<double> values, std::span<const std::size_t> group_sizes = {});

  double value() const { return share_; }
  Interval interval(double confidence) const;
  /// See SeriesMedian.
  void expect_correlation(double rho);

 private:
  double share_ = 0, count_ = 0, correlation_ = 0;
  std::vector<double> process_shares_;  ///< empty where there is one
};

/// The interval of a - b, by Newcombe's hybrid score method (1998, method 10).
Interval share_difference_interval(const SeriesShare& a, const SeriesShare& b, double confidence);

}  // namespace headroom
