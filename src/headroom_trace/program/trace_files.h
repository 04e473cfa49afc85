// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom::cli {

struct TraceFiles {
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> notes;  ///< on skipped files
};

/// Expands files, folders (*.json below them, plain, .gz, .zst or .zip), patterns with * ? [, and "-" for
/// standard input. Sorted within each operand, without duplicates. Throws Error for an operand without
/// traces.
TraceFiles trace_files(const std::vector<std::string>& operands);

/// Checks the first bytes, unpacked. False if there is no such file.
bool is_trace_file(const std::string& operand);

/// A file's name without endings and times, or the common folder of several.
std::string trace_name(const std::vector<std::filesystem::path>& paths);

/// True if the output is only PyTorch's pair of numbers.
bool is_pytorch_compatible(const TraceOptions& options);

/// Throws Error if an output cannot be written, or two are standard output.
void check_outputs(const TraceOutputOptions& outputs);
/// Throws Error if an output is also an input.
void protect_inputs(const TraceOutputOptions& outputs, std::span<const std::filesystem::path> inputs);

void write_report(const TraceReport& report, const TraceOutputOptions& outputs);
void write_pytorch_pair(const TraceReport& report, const TraceOutputOptions& outputs);

/// Appends the records, unless the same trace gave the same ones before; no-op if `store` is empty. Throws
/// Error.
void keep_in_history(const TraceReport& report, const std::string& store);

void warn_of_problems(const std::vector<trace::TraceFacts>& traces);

}  // namespace headroom::cli
