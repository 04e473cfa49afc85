// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

/// The processes that share the files of a job. Alone: one.
struct TraceCrew {
  std::size_t index = 0, size = 1;
  /// Called by each member with what it did; gives the first one what all did, the others nothing.
  std::function<std::vector<trace::FileAnalysis>(std::vector<trace::FileAnalysis>)> gather;
};

/// `headroom trace [ANALYSIS] FILE...`: reads, analyses, and, as the first of the crew, prints and writes.
ExitCode analyze_traces(const TraceOptions& options, const TraceCrew& crew = {});

}  // namespace headroom::cli
