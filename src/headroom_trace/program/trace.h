// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "headroom/console/command.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

/// The processes that share the files of a job.
struct TraceProcessGroup {
  std::size_t index = 0, size = 1;
  /// Called by each member; returns all results to the first one, none to the others.
  std::function<std::vector<trace::FileAnalysis>(std::vector<trace::FileAnalysis>)> gather;
};

/// Runs `headroom trace [ANALYSIS] FILE...`; only the first of the crew prints and writes.
ExitCode analyze_traces(const TraceOptions& options, const TraceProcessGroup& group = {});

/// `headroom trace convert IN OUT`: writes a clean Chrome trace, or its events as CSV.
OptionTable trace_convert_options();

/// `headroom trace diff A B`: joins traces or jobs by name and place.
OptionTable trace_diff_options();

/// `headroom trace merge FILE... -o OUT`: writes one trace of all ranks, with aligned clocks.
OptionTable trace_merge_options();

OptionTable trace_options(Arguments& arguments);

std::vector<CommandWord> trace_words();

}  // namespace headroom::cli
