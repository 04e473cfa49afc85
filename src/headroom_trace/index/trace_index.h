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

/// What of the time of the devices belongs to the window.
struct DeviceWindows {
  /// By index of TraceIndex::work().devices. From the window's start to its end, or to the end of the last
  /// work launched in it where the host ran ahead. For a device that is still busy with earlier work: from
  /// the first to the last work launched in the window, if that is longer.
  std::vector<Span> by_device;
  /// The window's, or from the first to the last work launched in it on the device that takes longest: the
  /// host may run ahead by more than a step, and end before the devices begin.
  std::int64_t length_ns = 0;
};

/// What several analyses derive from one trace, each computed on first use and kept. The trace must outlive
/// it unchanged. For one thread. Each part needs what the function named beside it needs.
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
  /// The time that findings are about, whatever was read beside: from the first to the last of the measured
  /// steps; without steps from the launch of the first device work (at most the median launch delay before
  /// it) to the end of the last; without devices the whole trace.
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
