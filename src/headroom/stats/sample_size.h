// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace headroom {

/// About how many more samples bring the half-width (relative, or in the unit of the goal) from its present
/// value to the goal, since it shrinks with the square root of their number. 0 where the goal is met; the
/// largest size_t where the half-width is not finite or the goal not positive.
std::size_t samples_needed(std::size_t current_samples, double current_half_width, double goal);

}  // namespace headroom
