// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// One allocation of the trace. Those from before it are not in the file; only what they add up to is.
struct Allocation {
  std::int32_t device_type = -1, device = -1;
  std::int64_t bytes = 0;
  std::int64_t at_ns = 0;
  static constexpr std::int64_t kNotFreed = std::numeric_limits<std::int64_t>::min();
  std::int64_t freed_ns = kNotFreed;  ///< kNotFreed: not in this file, or the file gives no addresses
  std::uint32_t event = kNone;        ///< row of Trace::memory
  /// Places in the order of all events: from the one on it is held, until the other; kNone: to the end.
  std::uint32_t from = 0, until = kNone;
  bool has_address = false;  ///< without one nobody knows when it is freed
  bool is_held_at(std::uint32_t place) const {
    return has_address && place != kNone && from <= place && place < until;
  }
};

/// The allocator of one device over the trace.
struct DeviceMemory {
  std::int32_t device_type = -1, device = -1;
  std::size_t allocations = 0, frees = 0;
  std::int64_t allocated_bytes = 0, freed_bytes = 0;  ///< in the trace
  /// Most bytes in use, and when. From the allocator's own total where the file has it; else the running sum
  /// of the trace, which counts from its start.
  std::int64_t peak_allocated_bytes = 0, peak_allocated_at_ns = 0;
  std::uint32_t peak_place = kNone;  ///< as Allocation::from: of the event that made the peak; kNone of none
  bool is_total_known = false;
  /// Most bytes held from the driver, when, and how many of them were in use then; -1 where not in the file.
  std::int64_t peak_reserved_bytes = -1, peak_reserved_at_ns = 0, allocated_at_peak_reserved_bytes = -1;
};

struct MemoryHistory {
  std::vector<DeviceMemory> devices;    ///< by device type and device
  std::vector<Allocation> allocations;  ///< by time
  /// Of each of `devices` the indices of its allocations.
  std::vector<std::vector<std::uint32_t>> of_device;
};
MemoryHistory memory_history(const Trace& trace);

/// "CPU", "CUDA", ... as torch numbers device types; "device type 77" for one that it does not know.
std::string device_type_name(std::int32_t device_type);

}  // namespace headroom::trace
