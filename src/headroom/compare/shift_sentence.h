// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/compare/percentile_comparison.h"

namespace headroom {

/// What a shift function says of the worst tenth and of the median: "the slowest tenth is 3.20x slower (2.90
/// to 3.60), the median the same". Of what is neither a time nor a rate "worst" and "worse". `shifts` as
/// shift_function() gives them, not empty.
std::string shift_sentence(const Comparison& comparison, const std::vector<DecileShift>& shifts);

}  // namespace headroom
