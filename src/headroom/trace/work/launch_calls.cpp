// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/launch_calls.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "headroom/trace/columns/attribution.h"

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

}  // namespace headroom::trace
