// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// The GPU work of a trace in the order of its starts, sorted once for all that sweep over it.
struct DeviceWork {
  struct Item {
    std::int64_t start_ns = 0;
    std::uint32_t row = 0;     ///< of Trace::gpu
    std::uint32_t device = 0;  ///< index in `devices`
  };
  std::vector<std::int32_t> devices;  ///< their numbers (device_of), ascending
  std::vector<Item> items;
};
DeviceWork device_work(const Trace& trace);
/// When the work of an item ends, ns.
inline std::int64_t end_of(const Trace& trace, const DeviceWork::Item& item) {
  return item.start_ns + trace.events.duration_ns[trace.gpu[item.row].event];
}

/// When any of the marked rows of trace.gpu ran, by device.
std::vector<Spans> busy_times(const Trace& trace, const DeviceWork& work, const std::vector<bool>& rows);

/// Where a device's time went. compute + exposed_communication + exposed_memory + idle = span, exactly. Adds
/// up over devices.
struct Breakdown {
  std::int64_t span_ns = 0, busy_ns = 0, idle_ns = 0;
  std::int64_t compute_ns = 0;                ///< any computing kernel ran
  std::int64_t exposed_communication_ns = 0;  ///< communication ran, and no computing kernel
  std::int64_t exposed_memory_ns = 0;         ///< copies and sets ran, and neither of the others
  std::int64_t communication_ns = 0;          ///< exposed or not
  std::int64_t overlapped_ns = 0;             ///< communication and computing at once
  /// By what ran at once: bit 0 compute, 1 communication, 2 memory. Sums to busy_ns.
  std::array<std::int64_t, 8> combinations{};
  Breakdown& operator+=(const Breakdown& other);
  double utilization() const { return share_of(busy_ns, span_ns); }
  static double share_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  }
};
/// What a device did when, by kind of work.
struct DeviceTimes {
  std::int32_t device = -1;
  Extent extent;  ///< first start to last end of its work
  std::size_t kernels = 0, copies = 0, sets = 0;
  Spans compute, communication, memory;
  Breakdown breakdown;
  Spans busy() const { return unite(unite(compute, communication), memory); }
};
/// By device, ascending. `types` are kernel_types(trace).
std::vector<DeviceTimes> device_times(const Trace& trace, const DeviceWork& work,
                                      const std::vector<KernelType>& types);

inline const Breakdown& breakdown(const DeviceTimes& times) {
  return times.breakdown;
}
Breakdown total(std::span<const DeviceTimes> devices);

/// Over all devices of a trace that was read with any needs: what `headroom trace utilization` starts with.
Breakdown breakdown(const Trace& trace);
/// Busy share of the devices' spans, 0 without work: `utilization(read("trace.json.gz"))`.
double utilization(const Trace& trace);

/// "0", or "?" where the file does not say.
std::string device_text(std::int32_t device);
/// "NVIDIA H100 80GB HBM3"; empty where the file does not say.
std::string device_name(const Trace& trace, std::int32_t device);

}  // namespace headroom::trace
