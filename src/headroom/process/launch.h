// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "headroom/process/descriptor.h"
#include "headroom/process/spawn.h"

namespace headroom {

/// A process just started, and our ends of its output pipes (non-blocking, close-on-exec).
struct Launched {
  pid_t pid = -1;
  Descriptor standard_output, standard_error;
};

/// Starts a program as Child describes it; the caller reaps it. Throws Error.
Launched launch(const SpawnOptions& options);

}  // namespace headroom
