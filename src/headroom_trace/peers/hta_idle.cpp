// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/peers/hta_idle.h"

namespace headroom::trace {

const char* to_string(HtaIdleCause cause) {
  constexpr const char* kNames[kHtaIdleCauses] = {"host wait", "kernel wait", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

HtaIdleCause hta_idle_cause(const Trace& trace, const IdleGap& gap, std::span<const std::uint32_t> launch,
                            std::int64_t threshold_ns) {
  const std::uint32_t call = launch[gap.next];
  if (call != kNone && trace.events.start_ns[call] > gap.start_ns) return HtaIdleCause::kHostWait;
  return gap.length_ns() < threshold_ns ? HtaIdleCause::kKernelWait : HtaIdleCause::kOther;
}

}  // namespace headroom::trace
