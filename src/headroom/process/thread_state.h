// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// Thread settings that called code may leave changed: floating-point control (rounding, flush to zero),
/// signal mask, priority.
class ThreadState {
 public:
  /// Those of the calling thread.
  ThreadState();

  /// On the calling thread. Returns the changed ones: "the rounding mode", ...
  std::vector<std::string> restore() const;

 private:
  std::uint64_t vector_control_ = 0;  ///< MXCSR or FPCR without status flags; elsewhere the rounding mode
  std::uint16_t x87_control_ = 0;
  sigset_t signals_{};
  int nice_ = 0;
  int policy_ = 0;
  sched_param parameters_{};
};

}  // namespace headroom
