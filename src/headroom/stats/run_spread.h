// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// How far runs of one program on one machine lie apart: the standard deviation of the logarithms of their
/// medians, and with how many degrees of freedom it is known. What differs from run to run (where memory
/// lies, the machine's temper of that hour) is in no sample of a single run.
struct RunSpread {
  double log_sd = 0;
  std::size_t degrees = 0;
};

/// From groups of runs, each of one program: the variances within the groups, pooled. Values > 0
/// (std::invalid_argument otherwise). Nothing where no group has two.
std::optional<RunSpread> run_spread(std::span<const std::vector<double>> groups);

/// Both estimates as one, by their degrees of freedom.
std::optional<RunSpread> pooled(const std::optional<RunSpread>& a, const std::optional<RunSpread>& b);

/// Half the width of the interval of the difference of the mean logarithms of `a` and of `b` runs (Student's
/// t).
double run_half_width(const RunSpread& spread, std::size_t a, std::size_t b, double confidence);

}  // namespace headroom
