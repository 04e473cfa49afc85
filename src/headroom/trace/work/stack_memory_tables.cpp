// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/stack_memory_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/allocation_tables.h"
#include "headroom/trace/work/python_work.h"

namespace headroom::trace {
namespace {

/// Some allocations of one stack.
struct StackMemory {
  NameId stack = kNoName;
  std::int64_t bytes = 0, allocations = 0, first_ns = 0, last_ns = 0;
};

/// Of the allocations of a device that fit, most bytes first.
template <typename Wanted>
std::vector<StackMemory> by_stack(const Trace& trace, const MemoryHistory& history, std::size_t device,
                                  Wanted wanted) {
  std::unordered_map<NameId, std::size_t> places;
  std::vector<StackMemory> stacks;
  for (const std::uint32_t i : history.of_device[device]) {
    const Allocation& one = history.allocations[i];
    if (!wanted(one)) continue;
    const NameId stack = trace.memory[one.event].stack;
    const auto [place, is_new] = places.try_emplace(stack, stacks.size());
    if (is_new) stacks.push_back({stack, 0, 0, one.at_ns, one.at_ns});
    StackMemory& sum = stacks[place->second];
    sum.bytes = saturating_add(sum.bytes, one.bytes);
    ++sum.allocations;
    sum.last_ns = one.at_ns;
  }
  std::ranges::stable_sort(stacks, std::greater{}, &StackMemory::bytes);
  return stacks;
}

DataTable stacks_table(const char* key, const char* title) {
  return {key,
          title,
          {{"memory", "memory", Kind::kText},
           {"device", "device", Kind::kText},
           {"line", "line", Kind::kText},
           {"bytes", "bytes", Kind::kBytes},
           {"share", "of all", Kind::kShare},
           {"allocations", "allocations", Kind::kCount},
           {"first_ns", "first", Kind::kInstantNs},
           {"last_ns", "last", Kind::kInstantNs},
           {"stack", "stack", Kind::kText}},
          {}};
}

std::vector<Cell> start_of_row(const DeviceMemory& device, std::string line, std::int64_t bytes,
                               std::int64_t all_bytes) {
  return {device_type_name(device.device_type), memory_device_cell(device.device), std::move(line), bytes,
          share_cell(bytes, all_bytes)};
}

void add_rows(const Trace& trace, const DeviceMemory& device, const std::vector<StackMemory>& stacks,
              std::int64_t all_bytes, std::size_t top, DataTable& table) {
  const std::size_t shown = top == 0 ? stacks.size() : std::min(top, stacks.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const StackMemory& one = stacks[i];
    const std::string_view stack = one.stack == kNoName ? std::string_view() : trace.names[one.stack];
    std::vector<Cell> row =
        start_of_row(device, stack.empty() ? "no stack in the file" : std::string(own_line_of(stack)),
                     one.bytes, all_bytes);
    row.insert(row.end(), {one.allocations, one.first_ns, one.last_ns,
                           stack.empty() ? Cell{} : Cell{std::string(stack)}});
    table.rows.push_back(std::move(row));
  }
  if (shown == stacks.size()) return;
  std::int64_t bytes = 0, allocations = 0;
  for (std::size_t i = shown; i < stacks.size(); ++i) {
    bytes = saturating_add(bytes, stacks[i].bytes);
    allocations += stacks[i].allocations;
  }
  std::vector<Cell> row =
      start_of_row(device, fmt::format("{} other stacks", stacks.size() - shown), bytes, all_bytes);
  row.insert(row.end(), {allocations, Cell{}, Cell{}, Cell{}});
  table.rows.push_back(std::move(row));
}

std::int64_t bytes_of(const std::vector<StackMemory>& stacks) {
  std::int64_t bytes = 0;
  for (const StackMemory& one : stacks) bytes = saturating_add(bytes, one.bytes);
  return bytes;
}

}  // namespace

bool has_memory_stacks(const Trace& trace) {
  return std::ranges::any_of(trace.memory, [](const MemoryEvent& event) { return event.stack != kNoName; });
}

DataTable peak_stacks_table(const Trace& trace, const MemoryHistory& history, std::size_t top) {
  DataTable table = stacks_table("peak_stacks", "what was held at the peak, by the lines that allocated it");
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    const DeviceMemory& device = history.devices[i];
    const auto stacks =
        by_stack(trace, history, i, [&](const Allocation& one) { return one.is_held_at(device.peak_place); });
    const std::int64_t peak = device.peak_allocated_bytes, known = bytes_of(stacks);
    add_rows(trace, device, stacks, peak, top, table);
    if (known >= peak) continue;
    std::vector<Cell> row = start_of_row(device, "allocated before the file begins", peak - known, peak);
    row.insert(row.end(), {Cell{}, Cell{}, Cell{}, Cell{}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

DataTable leaks_table(const Trace& trace, const MemoryHistory& history, std::size_t top) {
  DataTable table = stacks_table("leaks", "allocated and never freed, by the lines that allocated it");
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    const auto stacks = by_stack(trace, history, i,
                                 [](const Allocation& one) { return one.has_address && one.until == kNone; });
    add_rows(trace, history.devices[i], stacks, bytes_of(stacks), top, table);
  }
  return table;
}

DataTable pools_table(const Trace& trace) {
  DataTable table{"pools",
                  "reserved memory in the end, and in which pieces it is",
                  {{"memory", "memory", Kind::kText},
                   {"device", "device", Kind::kText},
                   {"segments", "segments", Kind::kCount},
                   {"reserved_bytes", "reserved", Kind::kBytes},
                   {"active_bytes", "in use", Kind::kBytes},
                   {"rounding_bytes", "of which rounding", Kind::kBytes},
                   {"inactive_split_bytes", "free beside what is in use", Kind::kBytes},
                   {"free_whole_bytes", "free in whole segments", Kind::kBytes},
                   {"largest_free_bytes", "largest free block", Kind::kBytes},
                   {"fragmentation", "of the free elsewhere", Kind::kShare}},
                  {}};
  for (const MemoryPool& pool : trace.memory_pools) {
    const std::int64_t free = pool.inactive_split_bytes + pool.free_whole_bytes;
    table.rows.push_back({device_type_name(pool.device_type), memory_device_cell(pool.device), pool.segments,
                          pool.reserved_bytes, pool.active_bytes, pool.active_bytes - pool.requested_bytes,
                          pool.inactive_split_bytes, pool.free_whole_bytes, pool.largest_free_bytes,
                          share_cell(std::max<std::int64_t>(free - pool.largest_free_bytes, 0), free)});
  }
  return table;
}

}  // namespace headroom::trace
