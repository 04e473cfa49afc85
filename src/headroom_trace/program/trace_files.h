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
  std::vector<std::string> notes;  ///< what was left out, a sentence each
};

/// The traces that the operands stand for: a file itself, a folder its *.json files and those below it
/// (plain, .gz, .zst or .zip), a pattern with * ? [ what fits it, "-" standard input. Sorted within each
/// operand, each file once. Throws Error: an operand that stands for none.
TraceFiles trace_files(const std::vector<std::string>& operands);

/// Whether a file is a trace, by its first bytes, unpacked, which no format of records knows. False for what
/// is no file.
bool is_trace_file(const std::string& operand);

/// What the records of these traces are called: a file by its name without endings and times, several by the
/// folder that they share.
std::string trace_name(const std::vector<std::filesystem::path>& paths);

/// Whether the answer is PyTorch's pair of numbers and nothing else.
bool is_pytorch_compatible(const TraceOptions& options);

/// Throws Error when a file that is asked for cannot be written, or two want standard output: asked before
/// reading.
void check_outputs(const TraceOutputOptions& outputs);
/// Throws Error when one of them is a trace that is to be read.
void keep_inputs(const TraceOutputOptions& outputs, std::span<const std::filesystem::path> inputs);

/// Prints the report and writes the files that were asked for.
void write_report(const TraceReport& report, const TraceOutputOptions& outputs);
/// The same of PyTorch's pair.
void write_pytorch_pair(const TraceReport& report, const TraceOutputOptions& outputs);

/// Appends the records of the report, unless the same trace gave the same ones before; nothing where `store`
/// is empty. Throws Error where it cannot be written to.
void keep_in_history(const TraceReport& report, const std::string& store);

/// What is amiss with each trace, a line each, as long as it can be read.
void warn_of_problems(const std::vector<trace::TraceFacts>& traces);

}  // namespace headroom::cli
