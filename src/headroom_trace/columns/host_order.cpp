// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/host_order.h"

#include <numeric>
#include <span>

namespace headroom::trace {
namespace {

std::vector<std::uint32_t> parents_in(const Trace& trace, std::span<const std::uint32_t> order,
                                      CategoryMask categories) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> parent(events.size(), kNone);
  std::vector<std::uint32_t> open;
  for (const std::uint32_t event : order) {
    while (!open.empty() && (events.thread[open.back()] != events.thread[event] ||
                             events.end_ns(open.back()) <= events.start_ns[event])) {
      open.pop_back();
    }
    if (!open.empty()) parent[event] = open.back();
    if ((mask_of(events.category[event]) & categories) != 0) open.push_back(event);
  }
  return parent;
}

}  // namespace

std::vector<std::uint32_t> nesting_order(const Trace& trace, CategoryMask categories) {
  const Events& events = trace.events;
  std::vector<std::size_t> end(trace.threads.size(), 0);
  std::size_t count = 0;
  const auto is_wanted = [&](std::uint32_t event) {
    return (mask_of(events.category[event]) & categories) != 0;
  };
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (!is_wanted(event)) continue;
    ++end[events.thread[event]];
    ++count;
  }
  std::exclusive_scan(end.begin(), end.end(), end.begin(), std::size_t{0});
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (is_wanted(event)) order[end[events.thread[event]]++] = event;
  }
  // Stable.
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    if (events.start_ns[a] != events.start_ns[b]) return events.start_ns[a] < events.start_ns[b];
    return events.duration_ns[a] > events.duration_ns[b];
  };
  std::size_t start = 0;
  for (const std::size_t thread_end : end) {
    merge_runs(std::span(order).subspan(start, thread_end - start), is_before);
    start = thread_end;
  }
  return order;
}

std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories, CategoryMask of) {
  return parents_in(trace, nesting_order(trace, categories | of), categories);
}

HostOrder host_order(const Trace& trace, CategoryMask categories) {
  HostOrder host{nesting_order(trace, categories), {}};
  host.parent = parents_in(trace, host.events, categories);
  return host;
}

std::vector<std::int64_t> self_times(const Trace& trace, const HostOrder& host) {
  std::vector<std::int64_t> self(trace.events.size(), 0);
  for_each_innermost(trace, host,
                     [&](Span span, std::uint32_t event) { self[event] += span.end - span.start; });
  return self;
}

}  // namespace headroom::trace
