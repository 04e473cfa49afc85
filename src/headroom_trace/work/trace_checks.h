// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

struct TraceCheck {
  const char* what;  ///< "GPU work that starts before its launch"
  const char* reason;
  bool is_anomaly = true;         ///< false: normal at the ends of a trace
  std::size_t count = 0, of = 0;  ///< violating events, of those checked
  std::int64_t largest_ns = -1;   ///< -1 if meaningless
  std::uint32_t example = kNone;  ///< row of Trace::events
};

/// Needs everything but Python and op arguments.
std::vector<TraceCheck> trace_checks(const Trace& trace);

}  // namespace headroom::trace
