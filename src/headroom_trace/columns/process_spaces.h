// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Processes sharing correlations and external ids; each rank of a merged file is a space.
struct ProcessSpaces {
  std::uint32_t count = 1;
  std::vector<std::uint32_t> of_thread = {};  ///< by row of Trace::threads; empty for one space
  std::vector<std::int64_t> rank = {};        ///< by space: from names like "rank 3: python", else its index

  std::uint32_t of(const Trace& trace, std::uint32_t event) const {
    return of_thread.empty() ? 0 : of_thread[trace.events.thread[event]];
  }
};

/// Groups by the process names of `headroom trace merge`, else by correlations shared by devices and hosts,
/// and by equal hosts in file order. Needs kLaunches.
ProcessSpaces process_spaces(const Trace& trace);

Trace rank_of(const Trace& trace, const ProcessSpaces& spaces, std::uint32_t space);

}  // namespace headroom::trace
