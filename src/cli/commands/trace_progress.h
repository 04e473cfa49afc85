// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "headroom/trace/report/file_analysis.h"

namespace headroom::cli {

class OptionTable;

/// How far the reading is, on one line of standard error, redrawn at most ten times a second and gone at the
/// end; nothing where that is not a terminal, and nothing for what is done within half a second.
class TraceProgress {
 public:
  TraceProgress();
  ~TraceProgress();
  TraceProgress(const TraceProgress&) = delete;
  TraceProgress& operator=(const TraceProgress&) = delete;

  void show(const trace::FilesProgress& progress);

 private:
  bool is_terminal_;
  bool drawn_ = false;
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

}  // namespace headroom::cli
