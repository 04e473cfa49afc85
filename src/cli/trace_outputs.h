// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/trace_options.h"
#include "headroom/report/trace_report.h"

namespace headroom::cli {

/// Whether the answer is PyTorch's pair of numbers and nothing else.
bool is_pytorch_compatible(const TraceOptions& options);

/// Throws Error when a file that is asked for cannot be written: asked before reading.
void require_writable_outputs(const TraceOptions& options);

/// Prints the report and writes the files and the history that were asked for.
void write_outputs(const TraceReport& report, const TraceOptions& options);

/// "kernels.streams.csv": where `--csv kernels.csv` puts the table "streams".
std::string csv_path(const std::string& path, const std::string& table_key);

}  // namespace headroom::cli
