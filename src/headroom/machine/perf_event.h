// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headroom/process/descriptor.h"

namespace headroom {

/// What perf_event_open can count.
struct CounterEvent {
  const char* name;
  std::uint32_t type = 0;    ///< PERF_TYPE_…
  std::uint64_t config = 0;  ///< PERF_COUNT_…
};

enum class CountedCode {
  kProgramsStarted,  ///< programs that this thread starts, from their exec on
  kThisThread,       ///< this thread, in user space, from now on
};

/// Opens a counter; closed where it cannot be had, errno then says why. `user_space` leaves the kernel's own
/// work out.
Descriptor open_perf_event(const CounterEvent& event, CountedCode code, bool user_space);

/// What to tell about a counter that could not be had, from errno.
std::string perf_event_absence(int error);

/// Instructions that the calling thread retires in user space. Virtual machines often count nothing.
class InstructionCounter {
 public:
  InstructionCounter();

  /// Empty where they are counted.
  const std::string& absence() const { return absence_; }
  /// So far; nothing where they are not counted, or another program holds the counter.
  std::optional<double> read() const;

 private:
  Descriptor file_;
  std::string absence_;
};

}  // namespace headroom
