// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What stays of a trace when its columns are gone.
struct TraceFacts {
  std::string source;
  std::uint64_t file_bytes = 0, json_bytes = 0;
  std::uint64_t events_seen = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< of the events that were read; both 0 without any
  /// Seconds since 1970: of the first event where the trace's clock counts from there, else the time of the
  /// file; 0 where neither tells.
  std::uint64_t recorded_at_s = 0;
  bool is_complete = true;
  Problems problems;
  std::optional<std::int64_t> rank, world_size;
  std::vector<DeviceProperties> devices;
};

TraceFacts facts_of(const Trace& trace);

}  // namespace headroom::trace
