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
  TraceFacts facts;  ///< of the input: its problems list what was repaired or left out
  std::uint64_t events_written = 0;
};

/// Writes a trace as a Chrome trace that any viewer accepts: strict JSON, one event a line, in the order of
/// the file. Drops only white space and what cannot be read (counted in the facts). Numbers in strings become
/// numbers for ts and dur, an X without a duration gets 0, NaN and infinities become null, text becomes
/// UTF-8. Streams: memory does not grow with the file. Throws Error as read() does.
Conversion convert_to_chrome_trace(const std::filesystem::path& path, const WriteText& write,
                                   const ReadOptions& options = {});

/// Writes the events with a duration as CSV, one a line, with the columns of Trace: times in nanoseconds,
/// then the details of GPU work and ops (empty for other events). Needs kAll.
std::uint64_t write_event_columns(const Trace& trace, const WriteText& write);

}  // namespace headroom::trace
