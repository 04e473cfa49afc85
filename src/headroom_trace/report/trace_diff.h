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

/// Events of one name, or at one place.
struct WorkSum {
  std::int64_t count = 0, total_ns = 0;
  WorkSum& operator+=(const WorkSum& other) {
    count += other.count;
    total_ns = saturating_add(total_ns, other.total_ns);
    return *this;
  }
};
using WorkByName = std::map<std::string, WorkSum>;

/// A trace, or all ranks of a job, summed by name, for comparison.
struct TraceProfile {
  WorkByName kernels;      ///< work of the devices
  WorkByName ops;          ///< operators, with what they call
  WorkByName annotations;  ///< record_function and the steps, all steps as one
  WorkByName calls;        ///< of the runtime and the driver
  /// Device work by its place in the tree: the names of the annotations and ops around its launch, outermost
  /// first, then its own: "ProfilerStep > aten::linear > aten::addmm > sgemm".
  WorkByName places;
  std::int64_t steps = 0;  ///< of the profiler
  std::int64_t traces = 0;
  std::vector<std::string> doubts;  ///< impossible events that are left out
  std::int64_t without_step = 0;    ///< device work outside the steps: its launch is not in the file
};

struct ProfileOptions {
  /// Only that step: events that the CPU starts in it, and device work launched in it.
  std::optional<std::int64_t> step;
  bool whole_names = false;  ///< of kernels; else short_name()
};

inline constexpr Needs kProfileNeeds = Needs::kLaunches | Needs::kOps;

/// Throws Error if the trace lacks the step. Needs kProfileNeeds.
TraceProfile profile_of(const Trace& trace, const ProfileOptions& options = {});

void add(TraceProfile& sum, const TraceProfile& other);

/// How the time of the events of one name changed from the first trace to the second.
enum class Change { kAdded, kDeleted, kIncreased, kDecreased, kUnchanged };
const char* to_string(Change change);

/// A name of either trace.
struct DiffLine {
  std::string name;
  WorkSum before, after;  ///< all zero if absent
  Change change = Change::kUnchanged;
};

/// The outer join of two, by name. Times have changed by more than 1 us and more than 1 %, or by more than
/// 1 ms; where the sums are of several steps (`..._steps`), times a step.
std::vector<DiffLine> joined(const WorkByName& before, const WorkByName& after, double before_steps = 1,
                             double after_steps = 1);

struct DiffOptions {
  std::size_t top = 20;   ///< rows of each table; 0: all
  bool per_step = false;  ///< counts and times by step of the profiler: for traces of unequal length
};

/// Returns tables of the changes, with the time of each and of one call: total, by kernel, by op, annotation
/// and call, by place in the tree. Largest time difference first. Throws Error for per_step if a trace has no
/// steps.
AnalysisResult diff(const TraceProfile& before, const TraceProfile& after, const DiffOptions& options = {});

}  // namespace headroom::trace
