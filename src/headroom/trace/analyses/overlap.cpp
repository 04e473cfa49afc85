// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/cells.h"
#include "headroom/trace/gpu_work.h"
#include "headroom/trace/kernel_type.h"
#include "headroom/trace/spans.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kTypes = 3;

/// The time of one device, by what it is spent on.
struct DeviceTime {
  std::int32_t device = -1;
  std::int64_t span_ns = 0;
  std::array<Spans, kTypes> by_type;                           ///< by KernelType
  std::map<NameId, std::vector<std::uint32_t>> communication;  ///< rows of Trace::gpu by kernel name
  const Spans& of(KernelType type) const { return by_type[static_cast<std::size_t>(type)]; }
};

Span span_of(const Trace& trace, std::uint32_t row) {
  const std::uint32_t event = trace.gpu[row].event;
  return {trace.events.start_ns[event], trace.events.end_ns(event)};
}

std::vector<DeviceTime> device_times(const Trace& trace) {
  const std::vector<KernelType> types = kernel_types(trace);
  std::vector<DeviceTime> times;
  for (const GpuWork& work : work_by_device(trace)) {
    DeviceTime& time = times.emplace_back();
    time.device = work.device;
    const std::int64_t start = span_of(trace, work.rows.front()).start;
    std::array<std::vector<Span>, kTypes> spans;
    for (const std::uint32_t row : work.rows) {
      const Span span = span_of(trace, row);
      spans[static_cast<std::size_t>(types[row])].push_back(span);
      time.span_ns = std::max(time.span_ns, span.end - start);
      if (types[row] == KernelType::kCommunication)
        time.communication[trace.events.name[trace.gpu[row].event]].push_back(row);
    }
    for (std::size_t type = 0; type < kTypes; ++type) time.by_type[type] = merged(std::move(spans[type]));
  }
  return times;
}

struct OverlapTime {
  std::int64_t span_ns = 0, compute_ns = 0, communication_ns = 0, memory_ns = 0;
  std::int64_t overlapped_ns = 0, exposed_communication_ns = 0, exposed_memory_ns = 0;
};

OverlapTime overlap_of(const DeviceTime& time) {
  const Spans& compute = time.of(KernelType::kCompute);
  const Spans& communication = time.of(KernelType::kCommunication);
  const Spans& memory = time.of(KernelType::kMemory);
  OverlapTime overlap;
  overlap.span_ns = time.span_ns;
  overlap.compute_ns = length(compute);
  overlap.communication_ns = length(communication);
  overlap.memory_ns = length(memory);
  overlap.overlapped_ns = length(intersect(communication, compute));
  overlap.exposed_communication_ns = overlap.communication_ns - overlap.overlapped_ns;
  overlap.exposed_memory_ns = length(subtract(memory, unite(compute, communication)));
  return overlap;
}

void add(OverlapTime& sum, const OverlapTime& one) {
  sum.span_ns += one.span_ns;
  sum.compute_ns += one.compute_ns;
  sum.communication_ns += one.communication_ns;
  sum.memory_ns += one.memory_ns;
  sum.overlapped_ns += one.overlapped_ns;
  sum.exposed_communication_ns += one.exposed_communication_ns;
  sum.exposed_memory_ns += one.exposed_memory_ns;
}

DataTable devices_table(const std::vector<DeviceTime>& times) {
  DataTable table{"devices",
                  "communication hidden behind computation, and what is exposed",
                  {{"device", "device", Kind::kCount},
                   {"span_ns", "span", Kind::kTimeNs},
                   {"compute_ns", "compute", Kind::kTimeNs},
                   {"communication_ns", "communication", Kind::kTimeNs},
                   {"overlap_ns", "overlapped", Kind::kTimeNs},
                   {"overlap_share", "overlap", Kind::kShare},
                   {"exposed_communication_ns", "exposed communication", Kind::kTimeNs},
                   {"exposed_communication_share", "share of span", Kind::kShare},
                   {"memory_ns", "copies and sets", Kind::kTimeNs},
                   {"exposed_memory_ns", "exposed", Kind::kTimeNs},
                   {"exposed_memory_share", "share of span", Kind::kShare}},
                  {}};
  for (const DeviceTime& time : times) {
    const OverlapTime overlap = overlap_of(time);
    table.rows.push_back({number_cell(time.device), overlap.span_ns, overlap.compute_ns,
                          overlap.communication_ns, overlap.overlapped_ns,
                          share_cell(overlap.overlapped_ns, overlap.communication_ns),
                          overlap.exposed_communication_ns,
                          share_cell(overlap.exposed_communication_ns, overlap.span_ns), overlap.memory_ns,
                          overlap.exposed_memory_ns, share_cell(overlap.exposed_memory_ns, overlap.span_ns)});
  }
  return table;
}

/// Each kernel name by itself: its time is the union of its calls, so that names may sum to more than the
/// device.
DataTable kernels_table(const Trace& trace, const std::vector<DeviceTime>& times, std::size_t top) {
  struct Row {
    std::int32_t device;
    NameId name;
    std::size_t calls;
    std::int64_t total_ns, union_ns, hidden_ns;
  };
  std::vector<Row> rows;
  for (const DeviceTime& time : times) {
    for (const auto& [name, calls] : time.communication) {
      Row row{time.device, name, calls.size(), 0, 0, 0};
      std::vector<Span> spans;
      for (const std::uint32_t call : calls) {
        spans.push_back(span_of(trace, call));
        row.total_ns += spans.back().end - spans.back().start;
      }
      const Spans together = merged(std::move(spans));
      row.union_ns = length(together);
      row.hidden_ns = length(intersect(together, time.of(KernelType::kCompute)));
      rows.push_back(row);
    }
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const Row& row) { return row.union_ns - row.hidden_ns; });
  DataTable table{"kernels",
                  "communication kernels, the most exposed first",
                  {{"device", "device", Kind::kCount},
                   {"kernel", "kernel", Kind::kText},
                   {"calls", "calls", Kind::kCount},
                   {"total_ns", "total", Kind::kTimeNs},
                   {"time_ns", "merged", Kind::kTimeNs},
                   {"hidden_ns", "hidden", Kind::kTimeNs},
                   {"hidden_share", "hidden share", Kind::kShare},
                   {"exposed_ns", "exposed", Kind::kTimeNs}},
                  {}};
  for (const Row& row : rows)
    table.rows.push_back({number_cell(row.device), name_cell(trace, row.name), count_cell(row.calls),
                          row.total_ns, row.union_ns, row.hidden_ns, share_cell(row.hidden_ns, row.union_ns),
                          row.union_ns - row.hidden_ns});
  keep_top(table, top);
  return table;
}

void add_headlines(const OverlapTime& overlap, const std::string& device, AnalysisResult& result) {
  const auto add_share = [&](const char* metric, bool lower_is_better, std::int64_t part,
                             std::int64_t whole) {
    if (whole > 0)
      result.headlines.push_back({metric, Kind::kShare, lower_is_better,
                                  static_cast<double>(part) / static_cast<double>(whole), device});
  };
  add_share("overlap", false, overlap.overlapped_ns, overlap.communication_ns);
  if (overlap.communication_ns > 0)
    add_share("exposed_communication_share", true, overlap.exposed_communication_ns, overlap.span_ns);
  add_share("exposed_memory_share", true, overlap.exposed_memory_ns, overlap.span_ns);
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  const std::vector<DeviceTime> times = device_times(trace);
  AnalysisResult result;
  result.tables = {devices_table(times), kernels_table(trace, times, options.top)};
  OverlapTime all;
  for (const DeviceTime& time : times) {
    const OverlapTime overlap = overlap_of(time);
    add(all, overlap);
    add_headlines(overlap, std::to_string(time.device), result);
  }
  add_headlines(all, "", result);
  if (times.empty()) {
    result.notes.emplace_back("no GPU work in this trace");
  } else if (all.communication_ns == 0) {
    result.notes.emplace_back("no communication in this trace: there is no overlap to speak of");
  } else if (10 * all.exposed_communication_ns > all.span_ns) {
    result.notes.push_back(fmt::format(
        "communication that nothing hides takes {} of the time: larger buckets, an earlier start of the "
        "collectives, or more computation per step would hide it",
        format_percent(static_cast<double>(all.exposed_communication_ns) /
                       static_cast<double>(all.span_ns))));
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis overlap{
    "overlap", "how much communication is hidden behind computation", Needs::kGpuWork, analyze, {}, nullptr};

}  // namespace analysis
}  // namespace headroom::trace
