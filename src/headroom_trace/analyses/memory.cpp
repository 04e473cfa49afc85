// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/base/units.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/memory.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {
namespace {

Cell memory_device_cell(std::int32_t device) {
  return device < 0 ? Cell{} : Cell{std::to_string(device)};
}

/// 0 if unknown.
double capacity_bytes(const Trace& trace, const DeviceMemory& memory) {
  if (memory.device_type == 0) return 0;
  for (const DeviceProperties& device : trace.devices) {
    if (device.id == memory.device) return device.total_memory_bytes;
  }
  return 0;
}

DataTable allocator_table(const Trace& trace, const MemoryHistory& history) {
  DataTable table{
      "allocators",
      "allocated memory; reserved but unallocated memory is cached or fragmented",
      {Column::text("memory"), Column::text("device"), Column::count("allocations").detail(),
       Column::count("frees").detail(), Column::bytes("allocated_bytes", "allocated in all"),
       Column::bytes("held_before_bytes", "of which before the file"),
       Column::bytes("left_bytes", "allocated and not freed").main(),
       Column::bytes("peak_allocated_bytes").main(), Column::instant("peak_allocated_at_ns", "at").detail(),
       Column::bytes("peak_reserved_bytes").main(), Column::instant("peak_reserved_at_ns", "at").detail(),
       Column::bytes("unused_at_peak_bytes", "of which not allocated"),
       Column::share("peak_share", "peak of the device's memory")}};
  for (const DeviceMemory& memory : history.devices) {
    const bool has_reserved = memory.peak_reserved_bytes >= 0;
    const double capacity = capacity_bytes(trace, memory);
    const auto peak = static_cast<double>(std::max(memory.peak_reserved_bytes, memory.peak_allocated_bytes));
    table.rows.push_back({device_type_name(memory.device_type), memory_device_cell(memory.device),
                          count_cell(memory.allocations), count_cell(memory.frees), memory.allocated_bytes,
                          memory.held_before_bytes > 0 ? Cell{memory.held_before_bytes} : Cell{},
                          memory.left_bytes, memory.peak_allocated_bytes, memory.peak_allocated_at_ns,
                          has_reserved ? Cell{memory.peak_reserved_bytes} : Cell{},
                          has_reserved ? Cell{memory.peak_reserved_at_ns} : Cell{},
                          has_reserved && memory.allocated_at_peak_reserved_bytes >= 0
                              ? Cell{memory.peak_reserved_bytes - memory.allocated_at_peak_reserved_bytes}
                              : Cell{},
                          quotient_cell(peak, capacity)});
  }
  return table;
}

/// Lifetimes are unknown for allocations from before the file.
DataTable allocations_table(const MemoryHistory& history, std::size_t top) {
  std::vector<const Allocation*> sorted;
  for (const Allocation& allocation : history.allocations) sorted.push_back(&allocation);
  std::ranges::stable_sort(sorted, std::greater{},
                           [](const Allocation* allocation) { return allocation->bytes; });
  DataTable table{"allocations",
                  "largest allocations",
                  {Column::text("memory"), Column::text("device"), Column::bytes("bytes").main(),
                   Column::instant("at_ns"), Column::time("life_ns", "freed after")}};
  for (const Allocation* one : sorted) {
    if (top > 0 && table.rows.size() == top) break;
    table.rows.push_back({device_type_name(one->device_type), memory_device_cell(one->device), one->bytes,
                          one->is_held_before ? Cell{} : Cell{one->at_ns},
                          one->is_held_before || one->freed_ns == Allocation::kNotFreed
                              ? Cell{}
                              : Cell{one->freed_ns - one->at_ns}});
  }
  return table;
}

DataTable allocated_series_table(const Trace& trace) {
  std::vector<const MemoryEvent*> events;
  for (const MemoryEvent& event : trace.memory) events.push_back(&event);
  std::ranges::stable_sort(events, {}, [](const MemoryEvent* event) { return event->at_ns; });
  DataTable table{"allocated_series",
                  "allocated memory after each allocation and free",
                  {Column::text("memory"), Column::text("device"), Column::instant("at_ns"),
                   Column::bytes("bytes", "change").main(), Column::bytes("allocated_bytes"),
                   Column::bytes("reserved_bytes").main()}};
  for (const MemoryEvent* event : events)
    table.rows.push_back({device_type_name(event->device_type), memory_device_cell(event->device),
                          event->at_ns, event->bytes, number_cell(event->total_allocated),
                          number_cell(event->total_reserved)});
  return table;
}

/// Times are unknown if all are from before the file.
struct StackMemory {
  NameId stack = kNoName;
  std::int64_t bytes = 0, allocations = 0;
  std::optional<std::int64_t> first_ns = {}, last_ns = {};
};

bool is_nameless(const Trace& trace, const Allocation& one) {
  return one.is_held_before && trace.memory[one.event].stack == kNoName;
}

/// Most bytes first, without nameless allocations.
template <typename Wanted>
std::vector<StackMemory> by_stack(const Trace& trace, const MemoryHistory& history, std::size_t device,
                                  Wanted wanted) {
  std::unordered_map<NameId, std::size_t> places;
  std::vector<StackMemory> stacks;
  for (const std::uint32_t i : history.of_device[device]) {
    const Allocation& one = history.allocations[i];
    if (!wanted(one) || is_nameless(trace, one)) continue;
    const NameId stack = trace.memory[one.event].stack;
    const auto [place, is_new] = places.try_emplace(stack, stacks.size());
    if (is_new) stacks.push_back({.stack = stack});
    StackMemory& sum = stacks[place->second];
    sum.bytes = saturating_add(sum.bytes, one.bytes);
    ++sum.allocations;
    if (one.is_held_before) continue;
    sum.last_ns = one.at_ns;
    if (!sum.first_ns) sum.first_ns = one.at_ns;
  }
  std::ranges::stable_sort(stacks, std::greater{}, &StackMemory::bytes);
  return stacks;
}

DataTable stacks_table(const char* key, const char* title) {
  return {key,
          title,
          {Column::text("memory"), Column::text("device"), Column::text("line").identifying(),
           Column::bytes("bytes").main(), Column::share("share", "of all").main(),
           Column::count("allocations").detail(), Column::instant("first_ns"), Column::instant("last_ns"),
           Column::text("stack").detail()},
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
    std::vector<Cell> row = start_of_row(
        device, stack.empty() ? "no stack in the file" : std::string(user_line(stack)), one.bytes, all_bytes);
    const auto at = [](const std::optional<std::int64_t>& ns) { return ns ? Cell{*ns} : Cell{}; };
    row.insert(row.end(), {one.allocations, at(one.first_ns), at(one.last_ns),
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

void add_earlier_row(const DeviceMemory& device, std::int64_t bytes, std::int64_t all_bytes,
                     DataTable& table) {
  if (bytes <= 0) return;
  std::vector<Cell> row = start_of_row(device, "allocated before the file begins", bytes, all_bytes);
  row.insert(row.end(), {Cell{}, Cell{}, Cell{}, Cell{}});
  table.rows.push_back(std::move(row));
}

std::int64_t bytes_of(const std::vector<StackMemory>& stacks) {
  std::int64_t bytes = 0;
  for (const StackMemory& one : stacks) bytes = saturating_add(bytes, one.bytes);
  return bytes;
}

bool has_memory_stacks(const Trace& trace) {
  return std::ranges::any_of(trace.memory, [](const MemoryEvent& event) { return event.stack != kNoName; });
}

/// The first `top` stacks per device (0: all). The rows sum to its peak, with rows for the rest and for
/// memory from before the file.
DataTable peak_stacks_table(const Trace& trace, const MemoryHistory& history, std::size_t top) {
  DataTable table = stacks_table("peak_stacks", "memory held at the peak, by allocating line");
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    const DeviceMemory& device = history.devices[i];
    const auto stacks =
        by_stack(trace, history, i, [&](const Allocation& one) { return one.is_held_at(device.peak_place); });
    const std::int64_t peak = device.peak_allocated_bytes, known = bytes_of(stacks);
    add_rows(trace, device, stacks, peak, top, table);
    add_earlier_row(device, peak - known, peak, table);
  }
  return table;
}

/// The rows of peak_stacks_table.
DataTable leaks_table(const Trace& trace, const MemoryHistory& history, std::size_t top) {
  DataTable table = stacks_table("leaks", "memory never freed, by allocating line");
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    const auto is_left = [](const Allocation& one) { return one.has_address && one.until == kNone; };
    const auto stacks = by_stack(trace, history, i, is_left);
    std::int64_t earlier = 0;
    for (const std::uint32_t row : history.of_device[i]) {
      const Allocation& one = history.allocations[row];
      if (is_left(one) && is_nameless(trace, one)) earlier = saturating_add(earlier, one.bytes);
    }
    const std::int64_t left = saturating_add(bytes_of(stacks), earlier);
    add_rows(trace, history.devices[i], stacks, left, top, table);
    add_earlier_row(history.devices[i], earlier, left, table);
  }
  return table;
}

/// The rows sum to the reserved bytes.
DataTable pools_table(const Trace& trace) {
  DataTable table{"pools",
                  "reserved memory at the end, by state",
                  {Column::text("memory"), Column::text("device"), Column::count("segments"),
                   Column::bytes("reserved_bytes").main(), Column::bytes("active_bytes", "in use"),
                   Column::bytes("rounding_bytes", "of which rounding"),
                   Column::bytes("waiting_bytes", "of which freed, awaiting a stream"),
                   Column::bytes("inactive_split_bytes", "free in partly used segments"),
                   Column::bytes("free_whole_bytes", "free in whole segments"),
                   Column::bytes("largest_free_bytes", "largest free block"),
                   Column::share("fragmentation", "free outside the largest block").main()}};
  for (const MemoryPool& pool : trace.memory_pools) {
    const std::int64_t free = pool.inactive_split_bytes + pool.free_whole_bytes;
    table.rows.push_back({device_type_name(pool.device_type), memory_device_cell(pool.device), pool.segments,
                          pool.reserved_bytes, pool.active_bytes, pool.active_bytes - pool.requested_bytes,
                          pool.waiting_bytes, pool.inactive_split_bytes, pool.free_whole_bytes,
                          pool.largest_free_bytes,
                          share_cell(std::max<std::int64_t>(free - pool.largest_free_bytes, 0), free)});
  }
  return table;
}

constexpr AnalysisOption kMemoryOptions[] = {
    {"series", "", "", "add tables with every change of bandwidth and of allocated memory"}};

DataTable transfers_table(const Trace& trace, const std::vector<Transfer>& transfers) {
  struct Sum {
    std::size_t count = 0, zero = 0;
    std::int64_t time_ns = 0, max_ns = 0;
    double bytes = 0;
    double timed_bytes = 0, timed_ns = 0;
    bool has_bytes = false;
  };
  std::map<std::tuple<std::int32_t, TransferKind, std::string_view>, Sum> sums;
  for (const Transfer& transfer : transfers) {
    const std::string_view name = trace.event_name(trace.gpu[transfer.row].event);
    Sum& sum = sums[{transfer.device, transfer.kind, transfer_memory(name)}];
    ++sum.count;
    sum.zero += transfer.duration_ns == 0;
    sum.time_ns = saturating_add(sum.time_ns, transfer.duration_ns);
    sum.max_ns = std::max(sum.max_ns, transfer.duration_ns);
    if (transfer.bytes < 0) continue;
    sum.has_bytes = true;
    sum.bytes += transfer.bytes;
    if (transfer.duration_ns == 0) continue;
    sum.timed_bytes += transfer.bytes;
    sum.timed_ns += static_cast<double>(transfer.duration_ns);
  }
  DataTable table{"transfers",
                  "copies and sets by kind and memory",
                  {Column::text("device"), Column::text("kind").identifying(), Column::text("memory"),
                   Column::count("transfers"), Column::bytes("bytes").main(), Column::time("time_ns").main(),
                   Column::time("max_ns", "longest"), Column::bandwidth("gb_s", "bandwidth").main(),
                   Column::count("zero_duration")}};
  for (const auto& [key, sum] : sums) {
    const auto& [device, kind, memory] = key;
    table.rows.push_back({device_text(device), std::string(to_string(kind)),
                          memory.empty() ? Cell{} : Cell{std::string(memory)}, count_cell(sum.count),
                          sum.has_bytes ? Cell{sum.bytes} : Cell{}, sum.time_ns, sum.max_ns,
                          quotient_cell(sum.timed_bytes, sum.timed_ns), count_cell(sum.zero)});
  }
  return table;
}

DataTable bandwidth_table(const std::vector<BandwidthSeries>& series) {
  DataTable table{"bandwidth",
                  "bandwidth of each kind while active",
                  {Column::text("device"), Column::text("kind").identifying(), Column::count("transfers"),
                   Column::count("without_bandwidth", "bandwidth unknown"), Column::time("active_ns", "time"),
                   Column::bandwidth("mean_gb_s", "mean"), Column::bandwidth("max_gb_s", "max")}};
  for (const BandwidthSeries& one : series) {
    std::int64_t active_ns = 0;
    double moved = 0, most = 0;
    for (std::size_t i = 0; i + 1 < one.steps.size(); ++i) {
      if (one.steps[i].active == 0) continue;
      const std::int64_t time = one.steps[i + 1].at_ns - one.steps[i].at_ns;
      active_ns += time;
      moved += one.steps[i].gb_s * static_cast<double>(time);
      most = std::max(most, one.steps[i].gb_s);
    }
    table.rows.push_back({device_text(one.device), std::string(to_string(one.kind)),
                          count_cell(one.transfers), count_cell(one.without_bandwidth), active_ns,
                          quotient_cell(moved, static_cast<double>(active_ns)),
                          active_ns > 0 ? Cell{most} : Cell{}});
  }
  return table;
}

DataTable bandwidth_series_table(const std::vector<BandwidthSeries>& series) {
  DataTable table{
      "bandwidth_series",
      "bandwidth after each change",
      {Column::text("device"), Column::text("kind").identifying(), Column::instant("at_ns", "from"),
       Column::bandwidth("gb_s", "bandwidth").main(), Column::count("active")}};
  for (const BandwidthSeries& one : series) {
    for (const BandwidthStep& step : one.steps)
      table.rows.push_back({device_text(one.device), std::string(to_string(one.kind)), step.at_ns, step.gb_s,
                            std::int64_t{step.active}});
  }
  return table;
}

void note_pageable(const Trace& trace, const std::vector<Transfer>& transfers, AnalysisResult& result) {
  std::int64_t pageable_ns = 0, all_ns = 0;
  std::size_t count = 0;
  for (const Transfer& transfer : transfers) {
    const std::string_view name = trace.event_name(trace.gpu[transfer.row].event);
    all_ns = saturating_add(all_ns, transfer.duration_ns);
    if (name.find("Pageable") == std::string_view::npos) continue;
    ++count;
    pageable_ns = saturating_add(pageable_ns, transfer.duration_ns);
  }
  if (count > 0)
    result.notes.push_back(fmt::format(
        "{} copies from or to pageable memory take {} of the time of all copies and sets; pinned memory "
        "(pin_memory, non_blocking) is faster and lets them overlap with kernels",
        count,
        all_ns > 0 ? format_percent(static_cast<double>(pageable_ns) / static_cast<double>(all_ns))
                   : "none"));
}

void note_allocators(const Trace& trace, const MemoryHistory& history, AnalysisResult& result) {
  for (const DeviceMemory& memory : history.devices) {
    std::string where = device_type_name(memory.device_type);
    if (memory.device >= 0) where += fmt::format(" {}", memory.device);
    // Negative: unknown.
    const std::int64_t allocated = std::max<std::int64_t>(memory.allocated_at_peak_reserved_bytes, 0);
    const std::int64_t unused = memory.peak_reserved_bytes - allocated;
    if (memory.allocated_at_peak_reserved_bytes >= 0 && unused > memory.peak_reserved_bytes / 5)
      result.notes.push_back(
          fmt::format("{}: {} of {} reserved were not allocated at the peak: cached blocks or fragmentation "
                      "(try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to see which)",
                      where, format_bytes(static_cast<double>(unused)),
                      format_bytes(static_cast<double>(memory.peak_reserved_bytes))));
    const double capacity = capacity_bytes(trace, memory);
    if (capacity > 0 && static_cast<double>(memory.peak_reserved_bytes) > 0.9 * capacity)
      result.notes.push_back(fmt::format("{}: more than 90 % of its memory was reserved at the peak", where));
    if (!memory.is_total_known)
      result.notes.push_back(fmt::format(
          "{}: total allocated memory is not in the file; the peak counts from the start of the trace",
          where));
  }
}

std::string failure_text(const Trace& trace, const MemoryPool& pool) {
  const auto bytes = [](std::int64_t of) { return format_bytes(static_cast<double>(of)); };
  const std::int64_t free = pool.inactive_split_bytes + pool.free_whole_bytes;
  std::string text = fmt::format("{} {} was out of memory", device_type_name(pool.device_type), pool.device);
  if (pool.out_of_memory > 1) text += fmt::format(" {} times, the last", pool.out_of_memory);
  text += fmt::format(" for {}", bytes(pool.wanted_bytes));
  if (pool.wanted_stack != kNoName) text += fmt::format(" at {}", user_line(trace.names[pool.wanted_stack]));
  text += fmt::format(": the device had {} free; of the {} reserved at the end {} are free, {} in one block",
                      bytes(pool.device_free_bytes), bytes(pool.reserved_bytes), bytes(free),
                      bytes(pool.largest_free_bytes));
  if (free + pool.device_free_bytes >= pool.wanted_bytes && pool.largest_free_bytes < pool.wanted_bytes)
    text += "; memory is fragmented (try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)";
  return text;
}

void note_pools(const Trace& trace, AnalysisResult& result) {
  constexpr std::int64_t kMuch = 10;
  for (const MemoryPool& pool : trace.memory_pools) {
    if (pool.out_of_memory > 0) result.answer.push_back(failure_text(trace, pool));
    if (pool.inactive_split_bytes <= pool.reserved_bytes / kMuch) continue;
    result.notes.push_back(
        fmt::format("{} {}: {} of {} reserved are free in partly used segments and cannot be returned; an "
                    "allocation above the largest free block, {}, needs new memory (try "
                    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)",
                    device_type_name(pool.device_type), pool.device,
                    format_bytes(static_cast<double>(pool.inactive_split_bytes)),
                    format_bytes(static_cast<double>(pool.reserved_bytes)),
                    format_bytes(static_cast<double>(pool.largest_free_bytes))));
  }
}

void answer_totals(const MemoryHistory& history, AnalysisResult& result) {
  const auto bytes = [](std::int64_t of) { return format_bytes(static_cast<double>(of)); };
  for (const DeviceMemory& memory : history.devices) {
    const std::string reserved = memory.peak_reserved_bytes < 0
                                     ? std::string()
                                     : fmt::format(", {} reserved", bytes(memory.peak_reserved_bytes));
    result.answer.push_back(fmt::format(
        "{} {}: {} allocated at the peak{}; {} held at the end", device_type_name(memory.device_type),
        memory.device, bytes(memory.peak_allocated_bytes), reserved, bytes(memory.left_bytes)));
  }
}

void answer_peak(const MemoryHistory& history, const DataTable& peaks, AnalysisResult& result) {
  if (peaks.rows.empty()) return;
  const DeviceMemory& fullest =
      *std::ranges::max_element(history.devices, {}, [](const DeviceMemory& memory) {
        return std::pair(memory.device_type != 0, memory.peak_allocated_bytes);
      });
  for (const std::vector<Cell>& row : peaks.rows) {
    if (row[0] != Cell{device_type_name(fullest.device_type)} || row[1] != memory_device_cell(fullest.device))
      continue;
    const auto bytes = static_cast<double>(std::get<std::int64_t>(row[3]));
    const auto peak = static_cast<double>(fullest.peak_allocated_bytes);
    if (peak <= 0) return;
    result.answer.push_back(fmt::format("of the peak {}, {} ({}): {}", format_bytes(peak),
                                        format_bytes(bytes), format_percent(bytes / peak),
                                        std::get<std::string>(row[2])));
    return;
  }
}

void add_headlines(const std::vector<Transfer>& transfers, const MemoryHistory& history,
                   AnalysisResult& result) {
  if (!transfers.empty()) {
    double time_ns = 0, bytes = 0;
    for (const Transfer& transfer : transfers) {
      time_ns += static_cast<double>(transfer.duration_ns);
      bytes += std::max(0.0, transfer.bytes);
    }
    result.headlines.push_back({"transfer_ns", Kind::kTimeNs, true, time_ns});
    result.headlines.push_back({"transfer_bytes", Kind::kBytes, true, bytes});
  }
  double allocated = 0, reserved = -1;
  const auto accelerators = std::ranges::count_if(
      history.devices, [](const DeviceMemory& memory) { return memory.device_type != 0; });
  for (const DeviceMemory& memory : history.devices) {
    if (memory.device_type == 0) continue;
    const auto peak = static_cast<double>(memory.peak_allocated_bytes);
    const auto peak_reserved = static_cast<double>(memory.peak_reserved_bytes);
    allocated = std::max(allocated, peak);
    reserved = std::max(reserved, peak_reserved);
    if (accelerators < 2) continue;
    const std::string device = std::to_string(memory.device);
    result.headlines.push_back({"peak_allocated_bytes", Kind::kBytes, true, peak, device});
    if (peak_reserved >= 0)
      result.headlines.push_back({"peak_reserved_bytes", Kind::kBytes, true, peak_reserved, device});
  }
  if (allocated > 0) result.headlines.push_back({"peak_allocated_bytes", Kind::kBytes, true, allocated});
  if (reserved >= 0) result.headlines.push_back({"peak_reserved_bytes", Kind::kBytes, true, reserved});
}

AnalysisResult analyze_memory(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  const std::vector<Transfer> found = transfers(trace);
  const std::vector<BandwidthSeries> series = bandwidth_series(found);
  const MemoryHistory history = memory_history(trace);
  AnalysisResult result;
  const bool is_alone = has_only_memory(trace);
  if (!is_alone) result.tables = {transfers_table(trace, found), bandwidth_table(series)};
  result.tables.push_back(allocator_table(trace, history));
  result.tables.push_back(allocations_table(history, options.top));
  if (is_alone) answer_totals(history, result);
  if (!trace.memory_pools.empty()) result.tables.push_back(pools_table(trace));
  if (has_memory_stacks(trace)) {
    result.tables.push_back(peak_stacks_table(trace, history, options.top));
    result.tables.push_back(leaks_table(trace, history, options.top));
    answer_peak(history, *(result.tables.end() - 2), result);
  } else if (!trace.memory.empty()) {
    if (trace.writer == Writer::kPyTorch)
      result.notes.emplace_back(
          "to see which module and Python line hold it: `headroom trace modules` of a trace recorded "
          "with_stack=True, or a memory snapshot");
  }
  if (options.flag("series")) {
    result.tables.push_back(bandwidth_series_table(series));
    result.tables.push_back(allocated_series_table(trace));
  }
  add_headlines(found, history, result);
  if (found.empty() && !is_alone) result.notes.emplace_back("no copies or sets in this trace");
  if (trace.memory.empty())
    result.notes.emplace_back("no allocations in this trace: record it with profile_memory=True");
  note_pageable(trace, found, result);
  note_allocators(trace, history, result);
  note_pools(trace, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis memory{.name = "memory",
                             .summary = "show copies, allocations, lines that hold memory, fragments",
                             .needs = Needs::kMemory | Needs::kGpuArguments,
                             .analyze = analyze_memory,
                             .options = kMemoryOptions};

}  // namespace analysis

}  // namespace headroom::trace
