// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/exit_status.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

namespace headroom {

std::string ExitStatus::text() const {
  if (code < 0) return "exit code unknown (this program was started with SIGCHLD ignored)";
  if (!signalled) return fmt::format("exit code {}", code);
  const char* name = sigdescr_np(code);
  if (name != nullptr) return fmt::format("killed by signal {} ({})", code, name);
  const bool real_time = code >= SIGRTMIN && code <= SIGRTMAX;
  return fmt::format("killed by signal {} ({})", code, real_time ? "real-time signal" : "unknown signal");
}

}  // namespace headroom
