// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

using CategoryMask = std::uint32_t;
constexpr CategoryMask mask_of(Category category) {
  return 1U << static_cast<unsigned>(category);
}
inline constexpr CategoryMask kOnCpu = mask_of(Category::kRuntime) | mask_of(Category::kDriver) |
                                       mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation) |
                                       mask_of(Category::kPython);

/// Host events nested by time on each thread. The parent is the innermost event open at the start, even if it
/// ends first. A moment belongs to the open event that began last.
struct HostOrder {
  std::vector<std::uint32_t> events;  ///< by thread and start; enclosing events first
  std::vector<std::uint32_t> parent;  ///< by row of Trace::events; or kNone
};
HostOrder host_order(const Trace& trace, CategoryMask categories = kOnCpu);

std::vector<std::uint32_t> nesting_order(const Trace& trace, CategoryMask categories);

/// Returns, for events of a category in `of`, the parent among `categories`, or kNone.
std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories, CategoryMask of = kOnCpu);

/// True if at least half of the event lies in `around`. A launch may slightly outlive its operator (clock
/// differences).
inline bool is_mostly_in(const Events& events, std::uint32_t event, std::uint32_t around) {
  return events.end_ns(around) >= events.start_ns[event] + events.duration_ns[event] / 2;
}

/// Calls take(span, event) while the event is innermost, by thread and time.
template <typename Take>
void for_each_innermost(const Trace& trace, const HostOrder& host, Take take) {
  const Events& events = trace.events;
  std::uint32_t open = kNone;
  std::int64_t at = 0;
  const auto go_on = [&](std::int64_t until) {
    for (; open != kNone; open = host.parent[open]) {
      const std::int64_t end = std::min(events.end_ns(open), until);
      if (end > at) take(Span{at, end}, open);
      at = std::max(at, end);
      if (events.end_ns(open) > until) return;
    }
  };
  for (const std::uint32_t event : host.events) {
    const bool is_same_thread = open != kNone && events.thread[open] == events.thread[event];
    go_on(is_same_thread ? events.start_ns[event] : std::numeric_limits<std::int64_t>::max());
    open = event;
    at = events.start_ns[event];
  }
  go_on(std::numeric_limits<std::int64_t>::max());
}

/// ns by event.
std::vector<std::int64_t> self_times(const Trace& trace, const HostOrder& host);

}  // namespace headroom::trace
