// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Prefix of the profiler's steps; the number follows.
inline constexpr std::string_view kStepName = "ProfilerStep#";
/// The same of JAX's StepTraceAnnotation.
inline constexpr std::string_view kStepNumName = "step_num#";
constexpr bool is_step_name(std::string_view name) {
  return name.starts_with(kStepName) || name.starts_with(kStepNumName);
}

/// One iteration of the program (index/steps.h).
struct Step {
  std::int64_t number = 0;
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;
};

/// Returns the step's number, else its name.
std::string step_text(const Step& step);

/// First start and last end of GPU work; both 0 without any.
struct Extent {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};
Extent gpu_extent(const Trace& trace);
Extent whole_extent(const Trace& trace);  ///< of every event

/// False for execution traces, whose events stand in their order, a nanosecond each, or all at one time. Of
/// the events that were read.
bool has_times(const Trace& trace);
inline constexpr const char* kNoTimes =
    "when operators, calls and work of devices began is not in the file: nothing tells what waits for what";

/// The facts of a trace that outlive its columns.
struct TraceFacts {
  std::string source;
  std::uint64_t file_bytes = 0, json_bytes = 0;
  std::uint64_t events_seen = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< of the events that were read; both 0 without any
  /// Seconds since 1970 of the first event if the trace's clock is absolute, else the time of the file, else
  /// 0.
  std::uint64_t recorded_at_s = 0;
  bool is_complete = true;
  Problems problems;
  std::optional<std::int64_t> rank, world_size;
  std::vector<DeviceProperties> devices;
};

TraceFacts facts_of(const Trace& trace);

/// Returns the rank in a file's name: a number after "rank" ("rank-3", "rank_3", "rank3", "rank[3]"), or,
/// but for the hosts in the names of PyTorch's trace handler ("worker-7_27702.1695835535.pt.trace.json.gz"),
/// after "worker". Ignores numbers as long as times.
std::optional<std::int64_t> rank_in_name(std::string_view path);

struct RankNumbers {
  std::vector<std::int64_t> ranks;  ///< of each trace; no two are equal
  std::vector<std::string> notes;   ///< what was assumed, a sentence each
};

/// Returns the ranks of the traces of one job: from the trace or its name, else the number in which alone the
/// names of the others differ ("trace_0.json", "trace_1.json"), else the lowest free numbers in file order.
/// If several files claim a rank, they go by the ranks in their names, else the first keeps it.
RankNumbers rank_numbers(std::span<const TraceFacts> traces);

/// Describes what is missing or unreadable in the file; empty if nothing.
std::string what_is_missing(const Trace& trace);

}  // namespace headroom::trace
