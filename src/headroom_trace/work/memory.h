// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// One allocation of the trace. Only snapshots have earlier ones.
struct Allocation {
  std::int32_t device_type = -1, device = -1;
  std::int64_t bytes = 0;
  std::int64_t at_ns = 0;
  static constexpr std::int64_t kNotFreed = std::numeric_limits<std::int64_t>::min();
  std::int64_t freed_ns = kNotFreed;  ///< kNotFreed: not in this file, or no addresses
  std::uint32_t event = kNone;        ///< row of Trace::memory
  /// Held from one place to the other in the order of all events (kNone: to the end).
  std::uint32_t from = 0, until = kNone;
  bool has_address = false;     ///< else its free is unknown
  bool is_held_before = false;  ///< at_ns is the start of the recording
  bool is_held_at(std::uint32_t place) const {
    return has_address && place != kNone && from <= place && place < until;
  }
};

struct DeviceMemory {
  std::int32_t device_type = -1, device = -1;
  std::size_t allocations = 0, frees = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t held_before_bytes = 0;  ///< thereof from before the recording
  /// Allocated and not freed in the file. Frees of earlier allocations do not count.
  std::int64_t left_bytes = 0;
  /// The allocator's total if known, else the running sum from the start.
  std::int64_t peak_allocated_bytes = 0, peak_allocated_at_ns = 0;
  std::uint32_t peak_place = kNone;  ///< as Allocation::from; kNone if unknown
  bool is_total_known = false;
  /// -1 if unknown.
  std::int64_t peak_reserved_bytes = -1, peak_reserved_at_ns = 0, allocated_at_peak_reserved_bytes = -1;
};

struct MemoryHistory {
  std::vector<DeviceMemory> devices;  ///< by device type and number
  std::vector<Allocation> allocations;
  /// Allocations by device.
  std::vector<std::vector<std::uint32_t>> of_device;
};
MemoryHistory memory_history(const Trace& trace);

bool has_only_memory(const Trace& trace);

/// "CPU", "CUDA", ... by torch's numbers, else "device type 77".
std::string device_type_name(std::int32_t device_type);

/// Direction of a transfer. PtoP: between two devices.
enum class TransferKind : std::uint8_t { kHtoD, kDtoH, kDtoD, kPtoP, kHtoH, kMemset, kUnknown };
inline constexpr std::size_t kTransferKinds = 7;
const char* to_string(TransferKind kind);

/// Classifies the names of Kineto ("Memcpy HtoD (Pinned -> Device)"), JAX ("MemcpyH2D") and ROCm
/// ("CopyHostToDevice", "MEMORY_COPY_DEVICE_TO_HOST", "__amd_rocclr_fillBuffer").
TransferKind transfer_kind(std::string_view name);

/// "Pageable -> Device"; may be empty.
std::string_view transfer_memory(std::string_view name);

/// A memcpy or memset, by category or kernel name.
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

/// Total bandwidth of the active transfers until the next step.
struct BandwidthStep {
  std::int64_t at_ns = 0;
  double gb_s = 0;
  std::int32_t active = 0;
};
struct BandwidthSeries {
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::size_t transfers = 0;
  std::size_t without_bandwidth = 0;
  std::vector<BandwidthStep> steps;  ///< by time, distinct times; the last is 0
};
/// One series per (device, kind). A transfer of zero duration counts for 1 us, as in HTA (clocks in
/// microseconds).
std::vector<BandwidthSeries> bandwidth_series(const std::vector<Transfer>& transfers);

}  // namespace headroom::trace
