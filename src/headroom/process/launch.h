// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>

#include "headroom/process/descriptor.h"
#include "headroom/process/spawn.h"

namespace headroom {

/// A process just started, and our ends of its output pipes (non-blocking, close-on-exec).
struct Launched {
  pid_t pid = -1;
  Descriptor standard_output, standard_error;     ///< the first closed where the output goes elsewhere
  std::chrono::steady_clock::time_point started;  ///< just before it was
};

/// Starts a program as Child describes it; the caller reaps it. Throws Error.
Launched launch(const SpawnOptions& options);

}  // namespace headroom
