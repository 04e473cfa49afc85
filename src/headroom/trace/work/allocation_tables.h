// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/trace/tables/data_table.h"
#include "headroom/trace/work/allocations.h"

namespace headroom::trace {

/// Capacity of a device by the file's deviceProperties, bytes; 0 where it says nothing.
double capacity_bytes(const Trace& trace, const DeviceMemory& memory);

/// A device's number; nothing for the CPU's memory, which has none.
Cell memory_device_cell(std::int32_t device);

/// A row for each device's memory: what was allocated, and the peaks.
DataTable allocator_table(const Trace& trace, const MemoryHistory& history);
/// The largest allocations and how long each lived; the first `top` of them (0: all).
DataTable allocations_table(const MemoryHistory& history, std::size_t top);
/// Every allocation and free by time, with the totals after it.
DataTable allocated_series_table(const Trace& trace);

}  // namespace headroom::trace
