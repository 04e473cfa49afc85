// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/launches.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

LaunchKind kind_of(const Trace& trace, const LaunchCall& call) {
  const std::string_view name = trace.names[trace.events.name[call.call]];
  if (call.rows.size() > 1 || name.find("GraphLaunch") != std::string_view::npos) return LaunchKind::kGraph;
  switch (trace.events.category[trace.gpu[call.rows.front()].event]) {
    case Category::kGpuMemcpy:
      return LaunchKind::kMemcpy;
    case Category::kGpuMemset:
      return LaunchKind::kMemset;
    default:
      return LaunchKind::kKernel;
  }
}

/// Sums changes (time, +1 or -1) into steps.
std::vector<QueueStep> steps_of(std::vector<std::pair<std::int64_t, int>> changes) {
  std::ranges::sort(changes);
  std::vector<QueueStep> steps;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::int64_t at = changes[i].first;
    const std::int64_t before = length;
    for (; i < changes.size() && changes[i].first == at; ++i) length += changes[i].second;
    if (length != before) steps.push_back({at, length});
  }
  return steps;
}

}  // namespace

const char* to_string(LaunchKind kind) {
  constexpr const char* kNames[] = {"kernel", "memcpy", "memset", "graph"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<LaunchCall> launch_calls(const Trace& trace, std::span<const std::uint32_t> launch) {
  const Events& events = trace.events;
  std::vector<LaunchCall> calls;
  std::unordered_map<std::uint32_t, std::size_t> by_call;
  for (std::uint32_t row = 0; row < launch.size(); ++row) {
    if (launch[row] == kNone) continue;
    const auto [found, is_new] = by_call.emplace(launch[row], calls.size());
    if (is_new) calls.push_back({launch[row], {}, LaunchKind::kKernel});
    calls[found->second].rows.push_back(row);
  }
  for (LaunchCall& call : calls) {
    std::ranges::stable_sort(call.rows, {},
                             [&](std::uint32_t row) { return events.start_ns[trace.gpu[row].event]; });
    call.kind = kind_of(trace, call);
  }
  std::ranges::sort(calls, [&](const LaunchCall& a, const LaunchCall& b) {
    if (events.start_ns[a.call] != events.start_ns[b.call])
      return events.start_ns[a.call] < events.start_ns[b.call];
    return a.call < b.call;
  });
  return calls;
}

Launches::Launches(const Trace& of)
    : trace(of), launch(launches(of)), op(launching_ops(of)), calls(launch_calls(of, launch)) {}

std::int64_t signed_delay_ns(const Trace& trace, std::uint32_t call, std::uint32_t row) {
  return trace.events.start_ns[trace.gpu[row].event] - trace.events.end_ns(call);
}

std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch) {
  std::vector<StreamQueue> queues;
  for (const GpuWork& work : work_by_stream(trace)) {
    StreamQueue& queue = queues.emplace_back();
    queue.device = work.device;
    queue.stream = work.stream;
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const std::uint32_t row : work.rows) {
      if (launch[row] == kNone) {
        ++queue.without_launch;
        continue;
      }
      ++queue.works;
      const std::int64_t launched = trace.events.start_ns[launch[row]];
      const std::int64_t started = trace.events.start_ns[trace.gpu[row].event];
      if (started <= launched) continue;
      changes.emplace_back(launched, 1);
      changes.emplace_back(started, -1);
    }
    queue.steps = steps_of(std::move(changes));
  }
  return queues;
}

QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit) {
  QueueSummary summary;
  if (steps.empty()) return summary;
  summary.span_ns = steps.back().at_ns - steps.front().at_ns;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const std::int64_t time = steps[i + 1].at_ns - steps[i].at_ns;
    const std::int64_t length = steps[i].length;
    summary.max_length = std::max(summary.max_length, length);
    summary.length_ns += static_cast<double>(length) * static_cast<double>(time);
    if (length == 0) summary.empty_ns += time;
    if (length >= limit) summary.blocked_ns += time;
  }
  return summary;
}

}  // namespace headroom::trace
