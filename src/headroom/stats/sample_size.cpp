// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/sample_size.h"

#include <cmath>
#include <limits>

namespace headroom {

std::size_t samples_needed(std::size_t current_samples, double current_half_width, double goal) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  if (current_half_width <= goal) return 0;
  if (!std::isfinite(current_half_width) || !(goal > 0)) return kMost;
  const double ratio = current_half_width / goal;
  const double more = std::ceil(static_cast<double>(current_samples) * (ratio * ratio - 1));
  return more < static_cast<double>(kMost) ? static_cast<std::size_t>(more) : kMost;
}

}  // namespace headroom
