// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

struct WorkSum {
  std::int64_t count = 0, total_ns = 0;
  WorkSum& operator+=(const WorkSum& other) {
    count += other.count;
    total_ns = saturating_add(total_ns, other.total_ns);
    return *this;
  }
};
using WorkByName = std::map<std::string, WorkSum>;

/// Of a trace, or of all ranks of a job.
struct TraceProfile {
  WorkByName kernels;      ///< GPU work
  WorkByName ops;          ///< with nested calls
  WorkByName annotations;  ///< all steps as one
  WorkByName calls;        ///< of the runtime and the driver
  /// GPU work by chain of annotations and ops: "ProfilerStep > aten::linear > aten::addmm > sgemm".
  WorkByName places;
  std::int64_t steps = 0;
  std::int64_t traces = 0;
  std::vector<std::string> doubts;  ///< excluded impossible events
  std::int64_t without_step = 0;    ///< GPU work outside the steps: no known launch
};

struct ProfileOptions {
  /// Only events that the CPU starts in that step, and GPU work launched in it.
  std::optional<std::int64_t> step;
  bool full_names = false;  ///< of kernels; else short_name()
};

inline constexpr Needs kProfileNeeds = Needs::kLaunches | Needs::kOps;

/// Throws Error if the trace lacks the step. Needs kProfileNeeds.
TraceProfile profile_of(const Trace& trace, const ProfileOptions& options = {});

void add(TraceProfile& sum, const TraceProfile& other);

enum class Change { kAdded, kDeleted, kIncreased, kDecreased, kUnchanged };
const char* to_string(Change change);

struct DiffLine {
  std::string name;
  WorkSum before, after;  ///< all zero if absent
  Change change = Change::kUnchanged;
};

/// Outer join by name. A time has changed if it differs by more than 1 us and 1 %, or by more than 1 ms; with
/// `..._steps`, per step.
std::vector<DiffLine> joined(const WorkByName& before, const WorkByName& after, double before_steps = 1,
                             double after_steps = 1);

struct DiffOptions {
  std::size_t top = 20;  ///< 0: all
  bool per_step = false;
};

/// The changes, largest time difference first. Throws Error for per_step if a trace has no steps.
AnalysisResult diff(const TraceProfile& before, const TraceProfile& after, const DiffOptions& options = {});

}  // namespace headroom::trace
