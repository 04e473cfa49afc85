// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// One allocation of the trace. Earlier ones are known only by their sum, but for snapshots.
struct Allocation {
  std::int32_t device_type = -1, device = -1;
  std::int64_t bytes = 0;
  std::int64_t at_ns = 0;
  static constexpr std::int64_t kNotFreed = std::numeric_limits<std::int64_t>::min();
  std::int64_t freed_ns = kNotFreed;  ///< kNotFreed: not in this file, or the file gives no addresses
  std::uint32_t event = kNone;        ///< row of Trace::memory
  /// Places in the order of all events: held from `from` until `until` (kNone: to the end).
  std::uint32_t from = 0, until = kNone;
  bool has_address = false;     ///< without one its free is unknown
  bool is_held_before = false;  ///< as MemoryEvent: at_ns is only the start of the recording
  bool is_held_at(std::uint32_t place) const {
    return has_address && place != kNone && from <= place && place < until;
  }
};

/// The allocator of one device over the trace.
struct DeviceMemory {
  std::int32_t device_type = -1, device = -1;
  std::size_t allocations = 0, frees = 0;
  std::int64_t allocated_bytes = 0;    ///< by all allocations of the file
  std::int64_t held_before_bytes = 0;  ///< of these, from before the recording began
  /// Of these, not freed in the file. Frees of what the file does not see allocated do not count.
  std::int64_t left_bytes = 0;
  /// Most bytes in use, and when: the allocator's own total if in the file, else the running sum from the
  /// start of the trace.
  std::int64_t peak_allocated_bytes = 0, peak_allocated_at_ns = 0;
  std::uint32_t peak_place = kNone;  ///< place of the peak's event, as Allocation::from; or kNone
  bool is_total_known = false;
  /// Most bytes reserved from the driver, when, and how many of them were in use then; -1 if unknown.
  std::int64_t peak_reserved_bytes = -1, peak_reserved_at_ns = 0, allocated_at_peak_reserved_bytes = -1;
};

struct MemoryHistory {
  std::vector<DeviceMemory> devices;    ///< by device type and device
  std::vector<Allocation> allocations;  ///< by time
  /// By device: the indices of its allocations.
  std::vector<std::vector<std::uint32_t>> of_device;
};
MemoryHistory memory_history(const Trace& trace);

/// Whether the file is about memory and nothing else, as a snapshot is.
bool is_memory_alone(const Trace& trace);

/// "CPU", "CUDA", ... by torch's numbers; "device type 77" for an unknown one.
std::string device_type_name(std::int32_t device_type);

/// Direction of a transfer. "PtoP": between two devices.
enum class TransferKind : std::uint8_t { kHtoD, kDtoH, kDtoD, kPtoP, kHtoH, kMemset, kUnknown };
inline constexpr std::size_t kTransferKinds = 7;
const char* to_string(TransferKind kind);

/// By name, as Kineto ("Memcpy HtoD (Pinned -> Device)"), JAX ("MemcpyH2D"), ROCm ("CopyHostToDevice",
/// "MEMORY_COPY_DEVICE_TO_HOST", "__amd_rocclr_fillBuffer") write it.
TransferKind transfer_kind(std::string_view name);

/// Returns the text in parentheses, "Pageable -> Device": the kinds of memory; empty if there is none.
std::string_view transfer_memory(std::string_view name);

/// A copy or a set, by category or by kernel name.
struct Transfer {
  std::uint32_t row = 0;  ///< of Trace::gpu
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::int64_t start_ns = 0, duration_ns = 0;
  double bytes = -1;
  /// From the file ("memory bandwidth (GB/s)"), else bytes / time; -1 if unknown.
  double bandwidth_gb_s = -1;
};
std::vector<Transfer> transfers(const Trace& trace);

/// Total bandwidth of one kind of transfer on one device, from at_ns to the next step.
struct BandwidthStep {
  std::int64_t at_ns = 0;
  double gb_s = 0;
  std::int32_t active = 0;  ///< transfers under way
};
struct BandwidthSeries {
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::size_t transfers = 0;
  std::size_t without_bandwidth = 0;  ///< left out
  std::vector<BandwidthStep> steps;   ///< by time, one an instant; the last is 0
};
/// Returns one series per (device, kind), in that order. A transfer adds its bandwidth from its start to its
/// end; one of zero duration counts for 1 us, as in HTA (old clocks tick in microseconds).
std::vector<BandwidthSeries> bandwidth_series(const std::vector<Transfer>& transfers);

}  // namespace headroom::trace
