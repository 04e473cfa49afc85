// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/idle_gaps.h"

#include "headroom/trace/columns/attribution.h"

namespace headroom::trace {

const char* to_string(IdleCause cause) {
  constexpr const char* kNames[] = {"host wait", "kernel wait", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<IdleGap> idle_gaps(const Trace& trace, std::span<const std::uint32_t> rows,
                               std::span<const std::uint32_t> launch, std::int64_t threshold_ns) {
  const Events& events = trace.events;
  std::vector<IdleGap> gaps;
  if (rows.empty()) return gaps;
  std::uint32_t latest = rows.front();
  for (const std::uint32_t row : rows.subspan(1)) {
    const std::int64_t busy_until = events.end_ns(trace.gpu[latest].event);
    const std::int64_t start = events.start_ns[trace.gpu[row].event];
    if (start > busy_until) {
      IdleGap gap{busy_until, start, latest, row, IdleCause::kOther};
      if (launch[row] != kNone && events.start_ns[launch[row]] > busy_until) {
        gap.cause = IdleCause::kHostWait;
      } else if (gap.length_ns() < threshold_ns) {
        gap.cause = IdleCause::kKernelWait;
      }
      gaps.push_back(gap);
    }
    if (events.end_ns(trace.gpu[row].event) >= busy_until) latest = row;
  }
  return gaps;
}

}  // namespace headroom::trace
