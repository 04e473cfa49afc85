// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/attribution.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

#include "headroom/trace/columns/kernel_type.h"

namespace headroom::trace {
namespace {

constexpr CategoryMask kLaunchers = mask_of(Category::kRuntime) | mask_of(Category::kDriver);

}  // namespace

std::vector<std::uint32_t> launches(const Trace& trace) {
  const Events& events = trace.events;
  std::unordered_map<std::int64_t, std::uint32_t> by_correlation;
  by_correlation.reserve(trace.gpu.size());
  for (const GpuDetail& work : trace.gpu) {
    if (events.correlation[work.event] != kNoCorrelation)
      by_correlation.emplace(events.correlation[work.event], kNone);
  }
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if ((mask_of(events.category[i]) & kLaunchers) == 0) continue;
    const auto found = by_correlation.find(events.correlation[i]);
    // A runtime call and the driver call inside it may both carry the number: the outer one is the launch.
    if (found == by_correlation.end()) continue;
    if (found->second == kNone || events.duration_ns[i] > events.duration_ns[found->second])
      found->second = i;
  }
  std::vector<std::uint32_t> launch(trace.gpu.size(), kNone);
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::int64_t correlation = events.correlation[trace.gpu[row].event];
    if (correlation != kNoCorrelation) launch[row] = by_correlation.at(correlation);
  }
  return launch;
}

std::vector<std::uint32_t> nesting_order(const Trace& trace, CategoryMask categories) {
  const Events& events = trace.events;
  struct Item {
    std::int64_t start, duration;
    std::uint32_t thread, event;
  };
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if ((mask_of(events.category[i]) & categories) != 0)
      items.push_back({events.start_ns[i], events.duration_ns[i], events.thread[i], i});
  }
  const auto is_before = [](const Item& a, const Item& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.start != b.start) return a.start < b.start;
    if (a.duration != b.duration) return a.duration > b.duration;
    return a.event < b.event;
  };
  // Profilers write thread by thread or in the order of time: what is sorted already is found so in one pass.
  if (!std::ranges::is_sorted(items, is_before)) std::ranges::sort(items, is_before);
  std::vector<std::uint32_t> order;
  order.reserve(items.size());
  for (const Item& item : items) order.push_back(item.event);
  return order;
}

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

std::vector<std::uint32_t> parents(const Trace& trace, CategoryMask categories, CategoryMask of) {
  return parents_in(trace, nesting_order(trace, categories | of), categories);
}

HostOrder host_order(const Trace& trace) {
  HostOrder order{nesting_order(trace, kOnCpu), {}};
  order.parent = parents_in(trace, order.events, kOnCpu);
  return order;
}

std::vector<std::uint32_t> launching_ops(const Trace& trace) {
  return launching_ops(trace, parents(trace, mask_of(Category::kCpuOp), kLaunchers));
}

std::vector<std::uint32_t> launching_ops(const Trace& trace, const std::vector<std::uint32_t>& parent) {
  const std::vector<std::uint32_t> launch = launches(trace);
  std::unordered_map<std::int64_t, std::uint32_t> by_external_id;
  for (const OpDetail& op : trace.ops) {
    if (op.external_id > 0 && trace.events.category[op.event] == Category::kCpuOp)
      by_external_id.emplace(op.external_id, op.event);
  }
  std::vector<std::uint32_t> op(trace.gpu.size(), kNone);
  for (std::size_t row = 0; row < op.size(); ++row) {
    if (launch[row] != kNone) op[row] = parent[launch[row]];
    if (op[row] != kNone) continue;
    const auto found = by_external_id.find(trace.gpu[row].external_id);
    if (found != by_external_id.end()) op[row] = found->second;
  }
  return op;
}

}  // namespace headroom::trace
