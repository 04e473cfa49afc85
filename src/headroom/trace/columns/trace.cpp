// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/trace.h"

#include <charconv>

namespace headroom::trace {

std::int32_t device_of(const Trace& trace, const GpuDetail& work) {
  if (work.device >= 0) return work.device;
  const std::string& pid = trace.threads[trace.events.thread[work.event]].pid;
  std::int32_t device = -1;
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), device);
  return error == std::errc{} && end == pid.data() + pid.size() ? device : -1;
}

}  // namespace headroom::trace
