// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "headroom/trace/columns/trace_facts.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {

using WriteText = std::function<void(std::string_view)>;

struct Conversion {
  TraceFacts facts;  ///< of what was read: its problems are what was repaired or left out
  std::uint64_t events_written = 0;
};

/// Writes a trace again as a Chrome trace that any viewer takes: strict JSON, one event a line, in the order
/// of the file. Everything is kept but what cannot be read (counted in the facts) and the white space; ts and
/// dur that stand in strings become numbers, an X without a duration gets 0, NaN and infinities become null,
/// text becomes UTF-8. Streams: memory does not follow the size of the file. Throws Error as read() does.
Conversion convert_to_chrome_trace(const std::filesystem::path& path, const WriteText& write,
                                   const ReadOptions& options = {});

/// The events that have a duration as CSV, one a line, by the columns of Trace: times in whole nanoseconds,
/// the details of GPU work and ops beside them, empty where there is none. Needs kAll.
std::uint64_t write_event_columns(const Trace& trace, const WriteText& write);

}  // namespace headroom::trace
