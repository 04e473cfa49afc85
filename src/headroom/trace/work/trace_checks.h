// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// One thing that should hold of the events of a trace.
struct TraceCheck {
  const char* what;               ///< "GPU work that starts before its launch": what is counted
  const char* reason;             ///< what it does to the analyses, or where it comes from
  bool is_anomaly = true;         ///< false: also whole traces have some, at their ends
  std::size_t count = 0, of = 0;  ///< events that are so, of those asked
  std::int64_t largest_ns = -1;   ///< by how much at most; -1 where that means nothing
  std::uint32_t example = kNone;  ///< the first of them, a row of Trace::events
};

/// Every check, in the order of the table of `headroom trace validate`. Needs everything but Python and the
/// arguments of ops.
std::vector<TraceCheck> trace_checks(const Trace& trace);

}  // namespace headroom::trace
