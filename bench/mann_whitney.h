// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "headroom/stats/autocorrelation.h"

namespace headroom::bench {

/// z, above 0 if `test` is larger (normal approximation, no correction for ties).
inline double mann_whitney_z(const std::vector<double>& baseline, const std::vector<double>& test) {
  std::vector<double> both = test;
  both.insert(both.end(), baseline.begin(), baseline.end());
  std::vector<double> ranks(both.size());
  mid_ranks(both, ranks);
  const auto n = static_cast<double>(test.size()), m = static_cast<double>(baseline.size());
  const double sum =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(test.size()), 0.0);
  return (sum - n * (n + m + 1) / 2) / std::sqrt(n * m * (n + m + 1) / 12);
}

}  // namespace headroom::bench
