// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {

using WriteText = std::function<void(std::string_view)>;

struct Conversion {
  TraceFacts facts;  ///< of the input
  std::uint64_t events_written = 0;
};

/// Writes strict JSON for any viewer, one event per line, in file order. Drops only white space and
/// unreadable parts (counted in the facts). ts and dur become numbers, an X without a duration gets 0, NaN
/// and infinities become null, text becomes UTF-8. Memory does not grow with the file. Throws Error as read()
/// does.
Conversion convert_to_chrome_trace(const std::filesystem::path& path, const WriteText& write,
                                   const ReadOptions& options = {});

/// Writes CSV: the columns of Trace in nanoseconds, then details of GPU work and ops. Needs kAll.
std::uint64_t write_event_columns(const Trace& trace, const WriteText& write);

}  // namespace headroom::trace
