// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "headroom/console/command.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

struct TraceProcessGroup {
  std::size_t index = 0, size = 1;
  /// Called by each member; returns all results to the first one, none to the others.
  std::function<std::vector<trace::FileAnalysis>(std::vector<trace::FileAnalysis>)> gather;
};

/// Only the first of the crew prints and writes.
ExitCode analyze_traces(const TraceOptions& options, const TraceProcessGroup& group = {});

OptionTable trace_convert_options();

OptionTable trace_diff_options();

OptionTable trace_merge_options();

OptionTable trace_options(Arguments& arguments);

std::vector<CommandWord> trace_words();

}  // namespace headroom::cli
