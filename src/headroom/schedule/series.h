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

/// Of each case that is alive: the relative half-width of the 95 % interval of its median, or of its ratio to
/// the first of them, whichever is wider; infinity where there is no interval, 0 of a case that is not alive.
std::vector<double> half_widths(std::span<const Track> cases);
/// The widest of half_widths(); nothing where a case has no interval.
std::optional<double> worst_half_width(std::span<const double> half_widths);

/// Median ns per iteration of the last few readings: for a display that follows the samples, and costs the
/// same after thousands of them. Nothing before the first.
std::optional<double> recent_median_ns(std::span<const Reading> readings);

}  // namespace headroom
