// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <variant>

#include "headroom/trace/trace.h"

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

}  // namespace headroom::trace
