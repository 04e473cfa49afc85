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

/// Prefixes of step names, before the number. JAX: StepTraceAnnotation.
inline constexpr std::string_view kStepName = "ProfilerStep#";
inline constexpr std::string_view kStepNumName = "step_num#";
constexpr bool is_step_name(std::string_view name) {
  return name.starts_with(kStepName) || name.starts_with(kStepNumName);
}

struct Step {
  std::int64_t number = 0;
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;
};

std::string step_text(const Step& step);

/// First start and last end; both 0 without events.
struct Extent {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};
Extent gpu_extent(const Trace& trace);
Extent trace_extent(const Trace& trace);  ///< of every event

/// False for execution traces, which know only an order of events.
bool has_times(const Trace& trace);
inline constexpr const char* kNoTimes =
    "the file has no start times of operators, calls and GPU work: waits between them are unknown";

/// Facts that outlive the columns.
struct TraceFacts {
  std::string source;
  std::uint64_t file_bytes = 0, json_bytes = 0;
  std::uint64_t events_seen = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< both 0 without events
  /// Time of the first event since 1970 if the clock is absolute, else the file time, else 0.
  std::uint64_t recorded_at_s = 0;
  bool is_complete = true;
  Problems problems;
  std::optional<std::int64_t> rank, world_size;
  std::vector<DeviceProperties> devices;
};

TraceFacts facts_of(const Trace& trace);

/// A short number after "rank" ("rank-3", "rank_3", "rank3", "rank[3]") or "worker", except in host names of
/// PyTorch's trace handler ("worker-7_27702.1695835535.pt.trace.json.gz").
std::optional<std::int64_t> rank_in_name(std::string_view path);

struct RankNumbers {
  std::vector<std::int64_t> ranks;  ///< distinct
  std::vector<std::string> notes;
};

/// Ranks by the trace or its name, else by the only number in which the other names differ ("trace_0.json",
/// "trace_1.json"), else the lowest free numbers. Among files claiming one rank, the ranks in their names
/// count, else the first keeps it.
RankNumbers rank_numbers(std::span<const TraceFacts> traces);

/// Missing or unreadable parts of the file, or "".
std::string missing_data_text(const Trace& trace);

class NamePredicate {
 public:
  NamePredicate(const Trace& trace, bool (*predicate)(std::string_view))
      : names_(trace.names), predicate_(predicate), cache_(trace.names.size(), kUnknown) {}
  bool operator()(NameId name) {
    if (name == kNoName) return predicate_("");
    std::uint8_t& cached = cache_[name];
    if (cached == kUnknown) cached = predicate_(names_[name]) ? 1 : 0;
    return cached == 1;
  }

 private:
  static constexpr std::uint8_t kUnknown = 2;
  const Names& names_;
  bool (*predicate_)(std::string_view);
  std::vector<std::uint8_t> cache_;
};

}  // namespace headroom::trace
