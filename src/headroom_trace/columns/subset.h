// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Keeps all memory events, flows and reader counts.
Trace subset(const Trace& trace, const std::vector<bool>& is_kept);

}  // namespace headroom::trace
