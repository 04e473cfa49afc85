// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/allocation_tables.h"
#include "headroom/trace/work/allocations.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/python_places.h"
#include "headroom/trace/work/stack_memory_tables.h"
#include "headroom/trace/work/transfers.h"

namespace headroom::trace {
namespace {

constexpr AnalysisOption kOptions[] = {
    {"series", "", "", "tables with every change of bandwidth and of allocated memory"}};

DataTable transfers_table(const Trace& trace, const std::vector<Transfer>& transfers) {
  struct Sum {
    std::size_t count = 0, zero = 0;
    std::int64_t time_ns = 0, max_ns = 0;
    double bytes = 0;
    /// Of those whose bytes are known and whose time is not zero.
    double timed_bytes = 0, timed_ns = 0;
    bool has_bytes = false;
  };
  std::map<std::tuple<std::int32_t, TransferKind, std::string_view>, Sum> sums;
  for (const Transfer& transfer : transfers) {
    const std::string_view name = trace.names[trace.events.name[trace.gpu[transfer.row].event]];
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
                  {{"device", "device", Kind::kText},
                   {"kind", "kind", Kind::kText},
                   {"memory", "memory", Kind::kText},
                   {"transfers", "transfers", Kind::kCount},
                   {"bytes", "bytes", Kind::kBytes},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"max_ns", "longest", Kind::kTimeNs},
                   {"gb_s", "bandwidth", Kind::kGigabytesPerSecond},
                   {"zero_duration", "of no time", Kind::kCount}},
                  {}};
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
                  "bandwidth of each kind while any of it is under way",
                  {{"device", "device", Kind::kText},
                   {"kind", "kind", Kind::kText},
                   {"transfers", "transfers", Kind::kCount},
                   {"without_bandwidth", "bandwidth unknown", Kind::kCount},
                   {"active_ns", "time", Kind::kTimeNs},
                   {"mean_gb_s", "mean", Kind::kGigabytesPerSecond},
                   {"max_gb_s", "max", Kind::kGigabytesPerSecond}},
                  {}};
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
  DataTable table{"bandwidth_series",
                  "bandwidth from each change on",
                  {{"device", "device", Kind::kText},
                   {"kind", "kind", Kind::kText},
                   {"at_ns", "from", Kind::kInstantNs},
                   {"gb_s", "bandwidth", Kind::kGigabytesPerSecond},
                   {"active", "under way", Kind::kCount}},
                  {}};
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
    const std::string_view name = trace.names[trace.events.name[trace.gpu[transfer.row].event]];
    all_ns = saturating_add(all_ns, transfer.duration_ns);
    if (name.find("Pageable") == std::string_view::npos) continue;
    ++count;
    pageable_ns = saturating_add(pageable_ns, transfer.duration_ns);
  }
  if (count > 0)
    result.notes.push_back(fmt::format(
        "copies from or to pageable memory: {}, {} of the time of all copies and sets. Pinned memory "
        "(pin_memory, non_blocking) is faster and lets them overlap with kernels",
        count,
        all_ns > 0 ? format_percent(static_cast<double>(pageable_ns) / static_cast<double>(all_ns))
                   : "none"));
}

void note_allocators(const Trace& trace, const MemoryHistory& history, AnalysisResult& result) {
  for (const DeviceMemory& memory : history.devices) {
    std::string where = device_type_name(memory.device_type);
    if (memory.device >= 0) where += fmt::format(" {}", memory.device);
    // Below 0 it is not known.
    const std::int64_t allocated = std::max<std::int64_t>(memory.allocated_at_peak_reserved_bytes, 0);
    const std::int64_t unused = memory.peak_reserved_bytes - allocated;
    if (memory.allocated_at_peak_reserved_bytes >= 0 && unused > memory.peak_reserved_bytes / 5)
      result.notes.push_back(fmt::format(
          "{}: {} of {} reserved were not allocated at the peak: a cache of freed blocks, or fragmentation "
          "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True tells which)",
          where, format_bytes(static_cast<double>(unused)),
          format_bytes(static_cast<double>(memory.peak_reserved_bytes))));
    const double capacity = capacity_bytes(trace, memory);
    if (capacity > 0 && static_cast<double>(memory.peak_reserved_bytes) > 0.9 * capacity)
      result.notes.push_back(fmt::format("{}: more than 90 % of its memory was reserved at the peak", where));
    if (!memory.is_total_known)
      result.notes.push_back(fmt::format(
          "{}: the file does not say how much was allocated in all; the peak counts from the trace's start",
          where));
  }
}

/// Which allocation found no memory, and whether that was for want of it or for the pieces that it is in.
std::string failure_text(const Trace& trace, const MemoryPool& pool) {
  const auto bytes = [](std::int64_t of) { return format_bytes(static_cast<double>(of)); };
  const std::int64_t free = pool.inactive_split_bytes + pool.free_whole_bytes;
  std::string text = fmt::format("{} {} was out of memory", device_type_name(pool.device_type), pool.device);
  if (pool.out_of_memory > 1) text += fmt::format(" {} times, the last", pool.out_of_memory);
  text += fmt::format(" for {}", bytes(pool.wanted_bytes));
  if (pool.wanted_stack != kNoName)
    text += fmt::format(" at {}", own_line_of(trace.names[pool.wanted_stack]));
  text += fmt::format(
      ": the device had {} free, and of the {} reserved in the end {} are free, {} in one block",
      bytes(pool.device_free_bytes), bytes(pool.reserved_bytes), bytes(free), bytes(pool.largest_free_bytes));
  if (free + pool.device_free_bytes >= pool.wanted_bytes && pool.largest_free_bytes < pool.wanted_bytes)
    text += ": it is torn (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)";
  return text;
}

void note_pools(const Trace& trace, AnalysisResult& result) {
  constexpr std::int64_t kMuch = 10;  // one part in
  for (const MemoryPool& pool : trace.memory_pools) {
    if (pool.out_of_memory > 0) result.answer.push_back(failure_text(trace, pool));
    if (pool.inactive_split_bytes <= pool.reserved_bytes / kMuch) continue;
    result.notes.push_back(fmt::format(
        "{} {}: {} of {} reserved are free beside blocks in use, so that they cannot be given back; what is "
        "larger than the largest free block, {}, needs new memory "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)",
        device_type_name(pool.device_type), pool.device,
        format_bytes(static_cast<double>(pool.inactive_split_bytes)),
        format_bytes(static_cast<double>(pool.reserved_bytes)),
        format_bytes(static_cast<double>(pool.largest_free_bytes))));
  }
}

/// Of the fullest device: what holds most of its peak.
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
    result.answer.push_back(fmt::format("of the {} at the peak {} ({}): {}", format_bytes(peak),
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
    result.headlines.push_back({"transfer_ns", Kind::kTimeNs, true, time_ns, ""});
    result.headlines.push_back({"transfer_bytes", Kind::kBytes, true, bytes, ""});
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
  // Of the whole trace: the fullest device, not the sum over them.
  if (allocated > 0) result.headlines.push_back({"peak_allocated_bytes", Kind::kBytes, true, allocated, ""});
  if (reserved >= 0) result.headlines.push_back({"peak_reserved_bytes", Kind::kBytes, true, reserved, ""});
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  const std::vector<Transfer> found = transfers(trace);
  const std::vector<BandwidthSeries> series = bandwidth_series(found);
  const MemoryHistory history = memory_history(trace);
  AnalysisResult result;
  result.tables = {transfers_table(trace, found), bandwidth_table(series), allocator_table(trace, history),
                   allocations_table(history, options.top)};
  if (!trace.memory_pools.empty()) result.tables.push_back(pools_table(trace));
  if (has_memory_stacks(trace)) {
    result.tables.push_back(peak_stacks_table(trace, history, options.top));
    result.tables.push_back(leaks_table(trace, history, options.top));
    answer_peak(history, *(result.tables.end() - 2), result);
  } else if (!trace.memory.empty()) {
    result.notes.emplace_back(
        "which module and line of Python holds it: `headroom trace modules` of a trace with_stack=True, or a "
        "memory snapshot");
  }
  if (options.flag("series")) {
    result.tables.push_back(bandwidth_series_table(series));
    result.tables.push_back(allocated_series_table(trace));
  }
  add_headlines(found, history, result);
  if (found.empty()) result.notes.emplace_back("no copies or sets in this trace");
  if (trace.memory.empty())
    result.notes.emplace_back("no allocations in this trace: record it with profile_memory=True");
  note_pageable(trace, found, result);
  note_allocators(trace, history, result);
  note_pools(trace, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis memory{
    "memory",
    "copies, their bandwidth, what was allocated, which lines hold it, and how torn it is",
    Needs::kMemory | Needs::kGpuArguments,
    analyze,
    kOptions,
    nullptr};

}  // namespace analysis
}  // namespace headroom::trace
