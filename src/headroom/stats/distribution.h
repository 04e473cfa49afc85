// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace headroom {

/// z with P(Z <= z) = p for a standard normal Z; 0 < p < 1, std::invalid_argument otherwise.
double normal_quantile(double p);

/// t with P(T <= t) = p for Student's T with `degrees` >= 1 degrees of freedom; 0 < p < 1.
double student_t_quantile(double p, std::size_t degrees);

/// Ranks, counted from 1, of the order statistics that hold a quantile.
struct RankPair {
  std::size_t low = 0;
  std::size_t high = 0;
};

/// The pair of ranks whose order statistics, of n independent values, hold the p-quantile (0 < p < 1) and
/// leave out at most `tail` on each side: P(B < low) <= tail and P(B >= high) <= tail for B binomial (n, p).
/// low is 0, or high is n + 1, where no order statistic goes far enough out.
RankPair binomial_ranks(std::size_t n, double p, double tail);

}  // namespace headroom
