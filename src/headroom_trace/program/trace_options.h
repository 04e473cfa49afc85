// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headroom/console/command.h"
#include "headroom/console/output.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::cli {

/// A progress line on a terminal's standard error: at most ten updates a second, removed at the end, only
/// after half a second.
class TraceProgress {
 public:
  TraceProgress();

  void show(const trace::FilesProgress& progress);

 private:
  StatusLine line_;
  std::chrono::steady_clock::time_point next_;
};

struct TraceReading {
  int threads = 0;  ///< 0: all CPUs
  std::string max_memory;
  std::vector<std::string> communication;
};

void declare_reading(OptionTable& table, TraceReading& reading);
/// Declares --communication only.
void declare_communication(OptionTable& table, TraceReading& reading);

/// Returns options that show progress and stop at Ctrl-C.
trace::FilesOptions files_options(const TraceReading& reading, TraceProgress& progress);

struct TraceOutputOptions {
  std::string json, csv;  ///< file, "-", or empty
  bool markdown = false, full_names = false;
};

struct TraceOptions {
  const trace::Analysis* analysis = nullptr;
  trace::AnalysisOptions values;
  /// Options as given; with the operands they reproduce the result.
  std::vector<std::string> given;
  std::vector<std::string> operands;
  TraceOutputOptions outputs;
  std::string name;   ///< empty: by the files
  std::string store;  ///< empty: keep no history
  TraceReading reading;
  bool list = false;
};

/// A first word of `headroom trace` other than an analysis.
struct TraceAction {
  const char* name;
  const char* operands;
  const char* summary;
  OptionTable (*options)();
};

void declare_outputs(OptionTable& table, TraceOutputOptions& outputs);

/// The options of the analysis named in `arguments`, whose name it removes. Throws Error for a name that is
/// neither an analysis nor a file.
OptionTable analysis_options(Arguments& arguments, std::span<const TraceAction> actions,
                             std::function<ExitCode(const TraceOptions&)> analyze);

/// The index of the first argument that is neither option nor value, or arguments.size().
std::size_t first_operand(const Arguments& arguments);

}  // namespace headroom::cli
