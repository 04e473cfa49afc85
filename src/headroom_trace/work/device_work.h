// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// The GPU work of a trace by start.
struct DeviceWork {
  struct Item {
    std::int64_t start_ns = 0;
    std::uint32_t row = 0;     ///< of Trace::gpu
    std::uint32_t device = 0;  ///< index in `devices`
  };
  std::vector<std::int32_t> devices;  ///< device numbers (device_of), ascending
  std::vector<Item> items;
};
DeviceWork device_work(const Trace& trace);
inline std::int64_t end_of(const Trace& trace, const DeviceWork::Item& item) {
  return item.start_ns + trace.events.duration_ns[trace.gpu[item.row].event];
}

/// By device, when the marked rows of trace.gpu ran.
std::vector<Spans> busy_times(const Trace& trace, const DeviceWork& work, const std::vector<bool>& rows);

/// Breakdown of a device's time: compute + exposed_communication + exposed_memory + idle = span, exactly.
/// Additive over devices.
struct Breakdown {
  std::int64_t span_ns = 0, busy_ns = 0, idle_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t exposed_communication_ns = 0;  ///< without a compute kernel
  std::int64_t exposed_memory_ns = 0;         ///< memcpy and memset without either of the others
  std::int64_t communication_ns = 0;
  std::int64_t overlapped_ns = 0;
  /// By concurrent kinds: bit 0 compute, 1 communication, 2 memory. Sums to busy_ns.
  std::array<std::int64_t, 8> combinations{};
  Breakdown& operator+=(const Breakdown& other);
  double utilization() const { return share_of(busy_ns, span_ns); }
  static double share_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  }
};
struct DeviceTimes {
  std::int32_t device = -1;
  Extent extent;  ///< first start to last end of its work
  std::size_t kernels = 0, copies = 0, sets = 0;
  Spans compute, communication, memory;
  Breakdown breakdown;
  Spans busy() const { return unite(unite(compute, communication), memory); }
};
/// One entry per device, ascending. `types` are kernel_types(trace).
std::vector<DeviceTimes> device_times(const Trace& trace, const DeviceWork& work,
                                      const std::vector<KernelType>& types);

inline const Breakdown& breakdown(const DeviceTimes& times) {
  return times.breakdown;
}
Breakdown total(std::span<const DeviceTimes> devices);

/// Over all devices, for any needs.
Breakdown breakdown(const Trace& trace);
/// Busy share of the devices' spans, 0 without work.
double utilization(const Trace& trace);

/// "0", or "?" if unknown.
std::string device_text(std::int32_t device);
/// "NVIDIA H100 80GB HBM3"; empty if unknown.
std::string device_name(const Trace& trace, std::int32_t device);

/// Rows of Trace::gpu of one stream or device, by start, ties in file order.
struct GpuWork {
  std::int32_t device = -1;
  std::int64_t stream = -1;  ///< unset in the result of work_by_device()
  std::vector<std::uint32_t> rows;
};

std::vector<GpuWork> work_by_stream(const Trace& trace);
std::vector<GpuWork> work_by_device(const Trace& trace);
std::vector<GpuWork> work_by_device(const DeviceWork& sorted);

struct KernelNumber {
  double value = 0;
  bool is_of_file = true;  ///< else computed
};

/// "blocks per SM", else grid size / multiprocessors; nothing if the file has neither.
std::optional<KernelNumber> blocks_per_multiprocessor(const Trace& trace, const GpuDetail& kernel);

/// As a share, at most 1: "est. achieved occupancy %", else warps per multiprocessor / its maximum, an upper
/// bound.
std::optional<KernelNumber> achieved_occupancy(const Trace& trace, const GpuDetail& kernel);

/// A row per device, and a row of sums for several. `matmul`: time of matrix products and convolutions by
/// device.
DataTable device_table(const Trace& trace, std::span<const DeviceTimes> devices,
                       std::span<const Spans> matmul);

}  // namespace headroom::trace
