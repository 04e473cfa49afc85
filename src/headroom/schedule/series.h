// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headroom/schedule/track.h"
#include "headroom/stats/series.h"

namespace headroom {

/// ns per iteration of each reading after the warm-up of its process.
Series steady_series(std::span<const Reading> readings);

/// Readings at the front of each epoch that a trend marks as warm-up, by epoch of appearance.
std::vector<std::size_t> warmup_by_process(std::span<const Reading> readings);

}  // namespace headroom
