// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headroom/schedule/track.h"
#include "headroom/stats/series.h"

namespace headroom {

/// ns per iteration of each reading after the warm-up of its process.
Series steady_series(std::span<const Reading> readings);

/// Readings at the front of each epoch that a trend marks as warm-up, by epoch of appearance.
std::vector<std::size_t> warmup_by_process(std::span<const Reading> readings);

/// Of the cases that are alive: the widest relative half-width of the 95 % interval of a median, or of a
/// ratio to the first of them. Nothing where one has no interval.
std::optional<double> worst_half_width(std::span<const Track> cases);

/// Median ns per iteration of the last few readings: for a display that follows the samples, and costs the
/// same after thousands of them. Nothing before the first.
std::optional<double> recent_median_ns(std::span<const Reading> readings);

}  // namespace headroom
