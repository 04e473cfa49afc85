// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headroom/trace/columns/steps.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// Why the devices had nothing to do, as a tree: what the host did then, by kind (depth 0), by the outermost
/// operator or the function that it belongs to (1), and by the innermost event (2). Sums to the idle time of
/// the devices. `launch` is launches(trace); of `top` branches at most five are shown at each place, 0: all.
DataTable culprit_table(const Trace& trace, std::span<const std::uint32_t> launch, std::size_t top);

/// The same of each step: what the host did (kind) and where that belongs, in the idle time of the devices
/// that falls into the step. At most `top` places of a step, and not more than three (0: all), the longest
/// first; all others are one row, so that the rows of a step sum to its idle time.
DataTable step_culprit_table(const Trace& trace, std::span<const std::uint32_t> launch,
                             std::span<const Step> steps, std::size_t top);

}  // namespace headroom::trace
