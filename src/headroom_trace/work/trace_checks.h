// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// A property that the events of a trace should have.
struct TraceCheck {
  const char* what;               ///< "GPU work that starts before its launch": what is counted
  const char* reason;             ///< effect on the analyses, or origin
  bool is_anomaly = true;         ///< false: normal at the ends of a trace
  std::size_t count = 0, of = 0;  ///< events that violate it, of those checked
  std::int64_t largest_ns = -1;   ///< largest violation; -1 if meaningless
  std::uint32_t example = kNone;  ///< the first of them, a row of Trace::events
};

/// Every check, in the order of the table of `headroom trace validate`. Needs everything but Python and the
/// arguments of ops.
std::vector<TraceCheck> trace_checks(const Trace& trace);

}  // namespace headroom::trace
