// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/index/trace_index.h"

#include <algorithm>
#include <span>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {
namespace {

template <typename Value, typename Make>
const Value& once(std::optional<Value>& kept, Make make) {
  if (!kept) kept = make();
  return *kept;
}

Span window_of(std::span<const Step> steps) {
  Span window{steps.front().start_ns, steps.front().end_ns};
  for (const Step& step : steps) window.end = std::max(window.end, step.end_ns);
  return window;
}

Span device_window(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch) {
  constexpr std::int64_t kMostAfterCallNs = 100'000;  // longer delays are waits in a queue
  const Events& events = trace.events;
  const Extent extent = gpu_extent(trace);
  std::vector<std::int64_t> delays;
  for (std::uint32_t row = 0; row < launch.size(); ++row) {
    if (launch[row] == kNone) continue;
    delays.push_back(events.start_ns[trace.gpu[row].event] - events.start_ns[launch[row]]);
  }
  const std::uint32_t call = launch[work.items.front().row];
  if (call == kNone) return {extent.start_ns, extent.end_ns};
  const auto middle = delays.begin() + std::ssize(delays) / 2;
  std::ranges::nth_element(delays, middle);
  const std::int64_t delay = std::min({*middle, extent.start_ns - events.start_ns[call],
                                       saturating_add(events.duration_ns[call], kMostAfterCallNs)});
  return {extent.start_ns - std::max<std::int64_t>(0, delay), extent.end_ns};
}

DeviceWindows windows_of_devices(const Trace& trace, Span window, const DeviceWork& work,
                                 std::span<const std::uint32_t> launch) {
  const std::vector<std::int64_t>& start_ns = trace.events.start_ns;
  DeviceWindows windows{std::vector<Span>(work.devices.size(), {window.end, window.start}),
                        window.end - window.start};
  std::vector<Span>& launched = windows.by_device;
  std::vector<bool> has_launches(work.devices.size()), has_work(work.devices.size()),
      is_behind(work.devices.size());
  const auto call_of = [&](std::uint32_t row) { return launch.empty() ? kNone : launch[row]; };
  for (const DeviceWork::Item& item : work.items) {
    const std::uint32_t call = call_of(item.row);
    if (call != kNone && start_ns[call] >= window.start && start_ns[call] < window.end)
      has_launches[item.device] = true;
  }
  for (const DeviceWork::Item& item : work.items) {
    const std::uint32_t call = call_of(item.row);
    // It may belong to earlier steps.
    if (call == kNone && has_launches[item.device]) continue;
    const std::int64_t queued = call == kNone ? item.start_ns : start_ns[call];
    if (queued >= window.end) continue;
    if (queued < window.start) {
      if (end_of(trace, item) > window.start) is_behind[item.device] = true;
      continue;
    }
    // Clock skew.
    const Span own{std::max(item.start_ns, queued), end_of(trace, item)};
    Span& all = launched[item.device];
    all = has_work[item.device] ? Span{std::min(all.start, own.start), std::max(all.end, own.end)} : own;
    has_work[item.device] = true;
  }
  for (std::size_t device = 0; device < launched.size(); ++device) {
    Span& span = launched[device];
    windows.length_ns = std::max(windows.length_ns, span.end - span.start);
    if (has_work[device] && !is_behind[device] && span.start < window.end) {
      span = {window.start, std::max(window.end, span.end)};
    } else if (!has_work[device] || span.end - span.start < window.end - window.start) {
      span = window;
    }
  }
  return windows;
}

}  // namespace

const std::vector<std::uint32_t>& TraceIndex::launches() const {
  return once(launches_, [&] { return trace::launches(trace_); });
}

const std::vector<std::uint32_t>& TraceIndex::ops() const {
  return once(ops_, [&] { return launching_ops(trace_, launches()); });
}

const HostOrder& TraceIndex::host() const {
  return once(host_, [&] { return host_order(trace_); });
}

const std::vector<KernelType>& TraceIndex::types() const {
  return once(types_, [&] { return kernel_types(trace_); });
}

const DeviceWork& TraceIndex::work() const {
  return once(work_, [&] { return device_work(trace_); });
}

const std::vector<DeviceTimes>& TraceIndex::devices() const {
  return once(devices_, [&] { return device_times(trace_, work(), types()); });
}

const std::vector<StreamOrder>& TraceIndex::streams() const {
  return once(streams_, [&] { return stream_orders(trace_, work(), launches()); });
}

const SyncWaits& TraceIndex::syncs() const {
  return once(syncs_, [&] { return sync_waits(trace_, launches(), streams()); });
}

const std::vector<CollectiveCall>& TraceIndex::calls() const {
  return once(calls_, [&]() -> std::vector<CollectiveCall> {
    if (std::ranges::find(types(), KernelType::kCommunication) == types().end()) return {};
    return collective_calls(trace_, launches(), types(), steps().steps);
  });
}

const StepSet& TraceIndex::steps() const {
  return once(steps_, [&] {
    StepSet set = step_set(trace_);
    find_whole_steps(trace_, set);
    return set;
  });
}

Span TraceIndex::window() const {
  return once(window_, [&]() -> Span {
    if (!steps().steps.empty()) return window_of(steps().measured());
    if (!trace_.gpu.empty()) return device_window(trace_, work(), launches());
    const Extent whole = trace_extent(trace_);
    return {whole.start_ns, whole.end_ns};
  });
}

const DeviceWindows& TraceIndex::device_windows() const {
  return once(device_windows_, [&] {
    const std::span<const std::uint32_t> none;
    return windows_of_devices(trace_, window(), work(), has_launchers(trace_) ? launches() : none);
  });
}

const IdleCulprits& TraceIndex::idle() const {
  return once(idle_,
              [&] { return idle_culprits(trace_, work(), launches(), host(), device_windows().by_device); });
}

}  // namespace headroom::trace
