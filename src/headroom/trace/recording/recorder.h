// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a recorder made: the file that it wrote, or the trace itself.
using Recording = std::variant<std::filesystem::path, Trace>;

/// Records what devices do while a program runs. The interface is here; the recorders that know an engine (a
/// profiler of torch, CUPTI) come with the runners that link it.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Throws Error when it cannot record.
  virtual void start() = 0;
  /// Ends what start() began; called once for each start(), also when what was recorded threw.
  virtual Recording stop() = 0;
};

/// For Registry::trace_with: one call of `run`, which a recorder of that type, made for `file`, records. What
/// `run` throws comes through; the recorder's destructor then ends the recording, and nothing is written.
template <typename FileRecorder>
void record_call(const std::string& file, const std::function<void()>& run) {
  FileRecorder recorder(file);
  recorder.start();
  run();
  recorder.stop();
}

}  // namespace headroom::trace
