// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/index/trace_index.h"

#include <algorithm>

#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {
namespace {

template <typename Value, typename Make>
const Value& once(std::optional<Value>& kept, Make make) {
  if (!kept) kept = make();
  return *kept;
}

Span window_of(const Trace& trace, const std::vector<Step>& steps) {
  if (steps.empty()) {
    const Extent whole = whole_extent(trace);
    return {whole.start_ns, whole.end_ns};
  }
  Span window{steps.front().start_ns, steps.front().end_ns};
  for (const Step& step : steps) window.end = std::max(window.end, step.end_ns);
  return window;
}

}  // namespace

const std::vector<std::uint32_t>& TraceIndex::launches() const {
  return once(launches_, [&] { return trace::launches(trace_); });
}

const std::vector<std::uint32_t>& TraceIndex::ops() const {
  return once(ops_, [&] { return launching_ops(trace_); });
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
  return once(calls_, [&] { return collective_calls(trace_, launches(), types()); });
}

const StepSet& TraceIndex::steps() const {
  return once(steps_, [&] { return step_set(trace_); });
}

Span TraceIndex::window() const {
  return once(window_, [&] { return window_of(trace_, steps().steps); });
}

const IdleCulprits& TraceIndex::idle() const {
  return once(idle_, [&] {
    const Span within = window();
    return idle_culprits(trace_, work(), launches(), host(), &within);
  });
}

}  // namespace headroom::trace
