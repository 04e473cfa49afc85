// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/trace/analysis.h"
#include "headroom/trace/report/trace_profile.h"

namespace headroom::trace {

/// What became of the events of one name from the first trace to the second: by their number.
enum class Change { kAdded, kDeleted, kIncreased, kDecreased, kUnchanged };
const char* to_string(Change change);

/// One name of either.
struct DiffLine {
  std::string name;
  WorkSum before, after;  ///< all zero where it is not
  Change change = Change::kUnchanged;
};

/// The outer join of two, by name.
std::vector<DiffLine> joined(const WorkByName& before, const WorkByName& after);

struct DiffOptions {
  std::size_t top = 20;   ///< rows of each table; 0: all
  bool per_step = false;  ///< counts and times by step of the profiler: for traces of unequal length
};

/// Tables of what changed: in sum, by kernel, by op, annotation and call, by place in the tree. The largest
/// difference of time first. Throws Error for per_step where a trace has no steps.
AnalysisResult diff(const TraceProfile& before, const TraceProfile& after, const DiffOptions& options = {});

}  // namespace headroom::trace
