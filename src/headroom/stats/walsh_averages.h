// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace headroom {

/// How many Walsh averages n values have: the means of two of them, each with itself included.
double walsh_count(std::size_t count);

/// The Walsh average at a rank from 1 to walsh_count() that need not be whole (between two: linear); ranks
/// beyond are taken for the first and the last. `sorted` ascending, not empty, all finite. None is stored:
/// they are counted below a bound that is halved, 60 times at most (15 us for 300 values, 0.5 ms for 10,000).
double walsh_average(std::span<const double> sorted, double rank);

}  // namespace headroom
