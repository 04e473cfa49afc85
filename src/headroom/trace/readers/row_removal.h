// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace::readers {

/// Takes the events that `is_dropped` marks out of the columns, with their details, and numbers the rest
/// anew.
void remove_events(Trace& trace, const std::vector<bool>& is_dropped);

}  // namespace headroom::trace::readers
