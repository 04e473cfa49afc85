// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/trace_facts.h"

#include <chrono>
#include <filesystem>

#include "headroom/trace/columns/steps.h"

namespace headroom::trace {
namespace {

/// A clock that counts from boot, or from where the profiler began, is far from the years of PyTorch.
bool is_since_1970(std::int64_t ns) {
  constexpr std::int64_t kYear = 31'556'952'000'000'000;  // mean, of the Gregorian calendar
  return ns > (2015 - 1970) * kYear && ns < (2100 - 1970) * kYear;
}

std::uint64_t file_time_s(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return 0;
  const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

}  // namespace

TraceFacts facts_of(const Trace& trace) {
  const Extent extent = whole_extent(trace);
  TraceFacts facts;
  facts.source = trace.source;
  facts.file_bytes = trace.file_bytes;
  facts.json_bytes = trace.json_bytes;
  facts.events_seen = trace.events_seen;
  facts.start_ns = extent.start_ns;
  facts.end_ns = extent.end_ns;
  facts.recorded_at_s = is_since_1970(extent.start_ns)
                            ? static_cast<std::uint64_t>(extent.start_ns / 1'000'000'000)
                            : file_time_s(trace.source);
  facts.is_complete = trace.is_complete;
  facts.problems = trace.problems;
  facts.rank = trace.rank;
  facts.world_size = trace.world_size;
  facts.devices = trace.devices;
  return facts;
}

}  // namespace headroom::trace
