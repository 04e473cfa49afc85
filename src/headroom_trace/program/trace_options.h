// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/console/output.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

class OptionTable;

/// How far the reading is, on one line of standard error, redrawn at most ten times a second and gone at the
/// end; nothing where that is not a terminal, and nothing for what is done within half a second.
class TraceProgress {
 public:
  TraceProgress();

  void show(const trace::FilesProgress& progress);

 private:
  StatusLine line_;
  std::chrono::steady_clock::time_point next_;
};

/// --threads, --max-memory and --communication, as they were given.
struct TraceReading {
  int threads = 0;  ///< 0: all CPUs of this process
  std::string max_memory;
  std::vector<std::string> communication;
};

void declare_reading(OptionTable& table, TraceReading& reading);
/// --communication, of what tells communication from computing.
void declare_communication(OptionTable& table, TraceReading& reading);

/// How `headroom trace` reads: with its progress shown, ended by Ctrl-C.
trace::FilesOptions files_options(const TraceReading& reading, TraceProgress& progress);

class OptionTable;

/// How a result is shown, and which files are made of it.
struct TraceOutputOptions {
  std::string json, csv;  ///< file, "-", or empty
  bool markdown = false, whole_names = false;
};

/// What `headroom trace [ANALYSIS] FILE...` was asked for.
struct TraceOptions {
  const trace::Analysis* analysis = nullptr;
  trace::AnalysisOptions values;
  /// Its own options as they were given: with them and the operands the same result comes again.
  std::vector<std::string> given;
  std::vector<std::string> operands;
  TraceOutputOptions outputs;
  std::string name;   ///< of the records; empty: by the files
  std::string store;  ///< empty: keep no history
  TraceReading reading;
  bool list = false;
};

/// The words that `headroom trace` takes first beside the names of analyses.
struct TraceAction {
  const char* name;
  const char* operands;
  const char* summary;
  ExitCode (*run)(const Arguments& arguments);
};

/// Declares --json, --csv, --markdown and --whole-names.
void declare_outputs(OptionTable& table, TraceOutputOptions& outputs);

/// Nothing where the command ends here, with `done` set: help was shown, or the usage was wrong. Throws
/// Error: a name that is no analysis and no file.
std::optional<TraceOptions> parse_trace_options(const Arguments& arguments,
                                                std::span<const TraceAction> actions, ExitCode& done);

/// The first argument that is no option and no option's value: an analysis, an action, or a file. The size of
/// `arguments` where there is none.
std::size_t first_operand(const Arguments& arguments);

}  // namespace headroom::cli
