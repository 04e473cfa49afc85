// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/perf_event.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headroom {

Descriptor open_perf_event(const CounterEvent& event, CountedCode code, bool user_space) {
  const bool of_programs = code == CountedCode::kProgramsStarted;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  // The event sleeps in this program and wakes in its children, when they exec.
  attributes.disabled = of_programs ? 1 : 0;
  attributes.inherit = of_programs ? 1 : 0;
  attributes.enable_on_exec = of_programs ? 1 : 0;
  attributes.exclude_kernel = user_space ? 1 : 0;
  attributes.exclude_hv = 1;
  return Descriptor(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::string perf_event_absence(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "this machine does not offer them (virtual machines often do not)";
    case EACCES:
    case EPERM:
      return "not permitted; lower /proc/sys/kernel/perf_event_paranoid to 2 or less";
    case ENOSYS:
      return "this kernel has no perf_event_open";
    default:
      return std::strerror(error);
  }
}

InstructionCounter::InstructionCounter()
    : file_(open_perf_event({"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                            CountedCode::kThisThread, true)) {
  if (!file_.is_open()) absence_ = perf_event_absence(errno);
}

std::optional<double> InstructionCounter::read() const {
  struct Reading {
    std::uint64_t count = 0, enabled_ns = 0, running_ns = 0;
  } reading;
  if (!file_.is_open() || ::read(file_.get(), &reading, sizeof reading) != sizeof reading)
    return std::nullopt;
  // Shared with other counters it would be an estimate, of too little code to be one.
  if (reading.running_ns == 0 || reading.running_ns != reading.enabled_ns) return std::nullopt;
  return static_cast<double>(reading.count);
}

}  // namespace headroom
