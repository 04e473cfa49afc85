// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Processes that share correlations and external ids: in a file merged from several ranks each process of a
/// host and the devices that work for it are a space of their own.
struct ProcessSpaces {
  std::uint32_t count = 1;
  std::vector<std::uint32_t> of_thread = {};  ///< by row of Trace::threads; empty for one space
  std::vector<std::int64_t> rank = {};        ///< by space: from names like "rank 3: python", else its number

  std::uint32_t of(const Trace& trace, std::uint32_t event) const {
    return of_thread.empty() ? 0 : of_thread[trace.events.thread[event]];
  }
};

/// Finds the spaces by the names that `headroom trace merge` gives, else by the correlations that the work of
/// a device shares with the calls of a host, and between equal hosts by the order in the file. Needs
/// kLaunches; without launches there is one space.
ProcessSpaces process_spaces(const Trace& trace);

/// The events of one space, as the file of its rank would have them.
Trace rank_of(const Trace& trace, const ProcessSpaces& spaces, std::uint32_t space);

}  // namespace headroom::trace
