// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/allocation_tables.h"

#include <algorithm>
#include <functional>

#include "headroom/trace/tables/cells.h"

namespace headroom::trace {

Cell memory_device_cell(std::int32_t device) {
  return device < 0 ? Cell{} : Cell{std::to_string(device)};
}

double capacity_bytes(const Trace& trace, const DeviceMemory& memory) {
  if (memory.device_type == 0) return 0;
  for (const DeviceProperties& device : trace.devices) {
    if (device.id == memory.device) return device.total_memory_bytes;
  }
  return 0;
}

DataTable allocator_table(const Trace& trace, const MemoryHistory& history) {
  DataTable table{"allocators",
                  "allocated memory; reserved and not allocated is cached or fragmented",
                  {{"memory", "memory", Kind::kText},
                   {"device", "device", Kind::kText},
                   {"allocations", "allocations", Kind::kCount},
                   {"frees", "frees", Kind::kCount},
                   {"allocated_bytes", "allocated in all", Kind::kBytes},
                   {"left_bytes", "allocated and not freed", Kind::kBytes},
                   {"peak_allocated_bytes", "peak allocated", Kind::kBytes},
                   {"peak_allocated_at_ns", "at", Kind::kInstantNs},
                   {"peak_reserved_bytes", "peak reserved", Kind::kBytes},
                   {"peak_reserved_at_ns", "at", Kind::kInstantNs},
                   {"unused_at_peak_bytes", "of which not allocated", Kind::kBytes},
                   {"peak_share", "peak of the device's memory", Kind::kShare}},
                  {}};
  for (const DeviceMemory& memory : history.devices) {
    const bool has_reserved = memory.peak_reserved_bytes >= 0;
    const double capacity = capacity_bytes(trace, memory);
    const auto peak = static_cast<double>(std::max(memory.peak_reserved_bytes, memory.peak_allocated_bytes));
    table.rows.push_back({device_type_name(memory.device_type), memory_device_cell(memory.device),
                          count_cell(memory.allocations), count_cell(memory.frees), memory.allocated_bytes,
                          memory.allocated_bytes - memory.freed_bytes, memory.peak_allocated_bytes,
                          memory.peak_allocated_at_ns,
                          has_reserved ? Cell{memory.peak_reserved_bytes} : Cell{},
                          has_reserved ? Cell{memory.peak_reserved_at_ns} : Cell{},
                          has_reserved && memory.allocated_at_peak_reserved_bytes >= 0
                              ? Cell{memory.peak_reserved_bytes - memory.allocated_at_peak_reserved_bytes}
                              : Cell{},
                          quotient_cell(peak, capacity)});
  }
  return table;
}

DataTable allocations_table(const MemoryHistory& history, std::size_t top) {
  std::vector<const Allocation*> sorted;
  for (const Allocation& allocation : history.allocations) sorted.push_back(&allocation);
  std::ranges::stable_sort(sorted, std::greater{},
                           [](const Allocation* allocation) { return allocation->bytes; });
  DataTable table{"allocations",
                  "largest allocations",
                  {{"memory", "memory", Kind::kText},
                   {"device", "device", Kind::kText},
                   {"bytes", "bytes", Kind::kBytes},
                   {"at_ns", "at", Kind::kInstantNs},
                   {"life_ns", "freed after", Kind::kTimeNs}},
                  {}};
  for (const Allocation* one : sorted) {
    if (top > 0 && table.rows.size() == top) break;
    table.rows.push_back(
        {device_type_name(one->device_type), memory_device_cell(one->device), one->bytes, one->at_ns,
         one->freed_ns == Allocation::kNotFreed ? Cell{} : Cell{one->freed_ns - one->at_ns}});
  }
  return table;
}

DataTable allocated_series_table(const Trace& trace) {
  std::vector<const MemoryEvent*> events;
  for (const MemoryEvent& event : trace.memory) events.push_back(&event);
  std::ranges::stable_sort(events, {}, [](const MemoryEvent* event) { return event->at_ns; });
  DataTable table{"allocated_series",
                  "allocated memory after each allocation and free",
                  {{"memory", "memory", Kind::kText},
                   {"device", "device", Kind::kText},
                   {"at_ns", "at", Kind::kInstantNs},
                   {"bytes", "change", Kind::kBytes},
                   {"allocated_bytes", "allocated", Kind::kBytes},
                   {"reserved_bytes", "reserved", Kind::kBytes}},
                  {}};
  for (const MemoryEvent* event : events)
    table.rows.push_back({device_type_name(event->device_type), memory_device_cell(event->device),
                          event->at_ns, event->bytes, number_cell(event->total_allocated),
                          number_cell(event->total_reserved)});
  return table;
}

}  // namespace headroom::trace
