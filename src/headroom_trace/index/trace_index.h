// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/stream_order.h"

namespace headroom::trace {

struct DeviceWindows {
  /// By index of TraceIndex::work().devices: the window, extended to the end of the last work launched in it.
  /// If the device is busy with earlier work: from the first to the last work launched in the window, if
  /// longer.
  std::vector<Span> by_device;
  /// The longest of the window and the work launched in it: the host may run ahead by more than a step.
  std::int64_t length_ns = 0;
};

/// Derived data of one trace, computed on first use. Not thread-safe. The trace must outlive it unchanged.
/// For needs see the function named at each part.
class TraceIndex {
 public:
  explicit TraceIndex(const Trace& trace) : trace_(trace) {}
  TraceIndex(const TraceIndex&) = delete;
  TraceIndex& operator=(const TraceIndex&) = delete;

  const Trace& trace() const { return trace_; }
  const std::vector<std::uint32_t>& launches() const;  ///< launches(trace)
  const std::vector<std::uint32_t>& ops() const;       ///< launching_ops(trace)
  const HostOrder& host() const;                       ///< host_order(trace)
  const std::vector<KernelType>& types() const;        ///< kernel_types(trace)
  const DeviceWork& work() const;                      ///< device_work(trace)
  const std::vector<DeviceTimes>& devices() const;     ///< device_times(...)
  const std::vector<StreamOrder>& streams() const;     ///< stream_orders(...)
  const SyncWaits& syncs() const;                      ///< sync_waits(...)
  const std::vector<CollectiveCall>& calls() const;    ///< collective_calls(...)
  const StepSet& steps() const;                        ///< with find_whole_steps
  /// The measured steps; else from the launch of the first device work (at most the median launch delay
  /// before it) to the end of the last; else the whole trace.
  Span window() const;
  const DeviceWindows& device_windows() const;  ///< needs kLaunches
  const IdleCulprits& idle() const;             ///< idle_culprits(...) in device_windows().by_device

 private:
  const Trace& trace_;
  mutable std::optional<std::vector<std::uint32_t>> launches_, ops_;
  mutable std::optional<HostOrder> host_;
  mutable std::optional<std::vector<KernelType>> types_;
  mutable std::optional<DeviceWork> work_;
  mutable std::optional<std::vector<DeviceTimes>> devices_;
  mutable std::optional<std::vector<StreamOrder>> streams_;
  mutable std::optional<SyncWaits> syncs_;
  mutable std::optional<std::vector<CollectiveCall>> calls_;
  mutable std::optional<StepSet> steps_;
  mutable std::optional<Span> window_;
  mutable std::optional<DeviceWindows> device_windows_;
  mutable std::optional<IdleCulprits> idle_;
};

}  // namespace headroom::trace
