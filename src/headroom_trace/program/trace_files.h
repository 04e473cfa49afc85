// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace headroom::cli
