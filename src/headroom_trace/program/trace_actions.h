// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/console/command.h"

namespace headroom::cli {

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
