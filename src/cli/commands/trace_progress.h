// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "headroom/trace/report/file_analysis.h"

namespace headroom::cli {

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

/// How `headroom trace` reads: that many threads (0: all CPUs of this process), with its progress shown,
/// ended by Ctrl-C.
trace::FilesOptions reading(int threads, TraceProgress& progress);

}  // namespace headroom::cli
