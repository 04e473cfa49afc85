// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// Why the devices had nothing to do, as a tree: what the host did then, by kind (depth 0), by the outermost
/// operator or the function that it belongs to (1), and by the innermost event (2). Sums to the idle time of
/// the devices. `launch` is launches(trace); of `top` branches at most five are shown at each place, 0: all.
DataTable culprit_table(const Trace& trace, std::span<const std::uint32_t> launch, std::size_t top);

}  // namespace headroom::trace
