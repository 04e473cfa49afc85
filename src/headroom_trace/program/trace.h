// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "headroom/console/command.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

/// The processes that share the files of a job.
struct TraceCrew {
  std::size_t index = 0, size = 1;
  /// Called by each member; returns all results to the first one, none to the others.
  std::function<std::vector<trace::FileAnalysis>(std::vector<trace::FileAnalysis>)> gather;
};

/// Runs `headroom trace [ANALYSIS] FILE...`; only the first of the crew prints and writes.
ExitCode analyze_traces(const TraceOptions& options, const TraceCrew& crew = {});

/// Runs `headroom trace convert IN OUT`: writes a clean Chrome trace, or its events as CSV.
ExitCode trace_convert(const Arguments& arguments);

/// Runs `headroom trace diff A B`: joins traces or jobs by name and place.
ExitCode trace_diff(const Arguments& arguments);

/// Runs `headroom trace merge FILE... -o OUT`: writes one trace of all ranks, with aligned clocks.
ExitCode trace_merge(const Arguments& arguments);

ExitCode trace(const Arguments& arguments);

std::vector<CommandWord> trace_words();

}  // namespace headroom::cli
