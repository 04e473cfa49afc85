// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The trace with the marked events only, and what belongs to them. Memory events and arrows stay, and what
/// the reader counted.
Trace subset(const Trace& trace, const std::vector<bool>& is_kept);

}  // namespace headroom::trace
