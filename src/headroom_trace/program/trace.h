// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "headroom/console/command.h"
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

/// `headroom trace convert IN OUT`: a clean Chrome trace, or its events as CSV.
ExitCode trace_convert(const Arguments& arguments);

/// `headroom trace diff A B`: joins kernels and ops of two traces, or of two jobs, by name and by place.
ExitCode trace_diff(const Arguments& arguments);

/// `headroom trace merge FILE... -o OUT`: the traces of the ranks of a job as one, with aligned clocks.
ExitCode trace_merge(const Arguments& arguments);

/// `headroom trace`.
ExitCode trace(const Arguments& arguments);

/// Analyses, diff, convert.
std::vector<CommandWord> trace_words();

}  // namespace headroom::cli
