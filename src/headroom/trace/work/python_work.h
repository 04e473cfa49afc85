// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/python_places.h"

namespace headroom::trace {

/// What some place in Python is to blame for.
struct PythonAmounts {
  std::int64_t launches = 0, device_ns = 0;
  double flops = 0;             ///< of the operators whose cost is known (roofline)
  std::int64_t idle_ns = 0;     ///< of the devices, while it was what kept them waiting (idle_culprits)
  std::int64_t kept_bytes = 0;  ///< allocated minus freed; may be less than none
  std::int64_t peak_bytes = 0;  ///< held when the memory was fullest

  void add(const PythonAmounts& more);
};

/// Own: with no other such place between. All: below it, too.
struct PythonTimes {
  std::int64_t calls = -1,
               host_ns = -1;  ///< -1: not known, as of call stacks; a call within one is its time once
  PythonAmounts own, all;
};

struct PythonWork {
  StackSource source = StackSource::kNothing;
  std::vector<PythonModule> modules;
  std::vector<std::string_view> lines;                ///< of Trace::names
  std::vector<PythonTimes> module_times, line_times;  ///< of each of them
  PythonAmounts total;                                ///< of the whole trace
  PythonAmounts placed, elsewhere;  ///< of what is below any line or module, and of what is not
  std::int64_t backward_ns =
      0;  ///< of its device time by autograd: it is where its forward operator was called
};

/// GPU work, the operators' FLOPs, the devices' idle time and memory by the Python that they are from: the
/// functions around the launch, the operator, what the host did, the allocation; around the forward operator
/// of the same sequence number where autograd's threads did it; else the call stacks of the operators around.
/// Memory is that of the devices; that of the CPU where the file has none of devices. The idle times sum to
/// those of idle_culprits, the FLOPs to those of roofline, the peak to the devices' own. Needs kLaunches,
/// kOps, kOpArguments, kPython and, for memory, kMemory.
PythonWork python_work(const Trace& trace);

}  // namespace headroom::trace
