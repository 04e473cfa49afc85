// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/spans.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {
namespace {

DataTable devices_table(const std::vector<DeviceTimes>& devices) {
  DataTable table{"devices",
                  "communication hidden behind computation, and what is exposed",
                  {{"device", "device", Kind::kText},
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
  for (const DeviceTimes& times : devices) {
    const Breakdown sum = breakdown(times);
    table.rows.push_back(
        {device_text(times.device), sum.span_ns, sum.compute_ns, sum.communication_ns, sum.overlapped_ns,
         share_cell(sum.overlapped_ns, sum.communication_ns), sum.communication_ns - sum.overlapped_ns,
         share_cell(sum.communication_ns - sum.overlapped_ns, sum.span_ns), length(times.memory),
         sum.exposed_memory_ns, share_cell(sum.exposed_memory_ns, sum.span_ns)});
  }
  return table;
}

/// A communication kernel of one device.
struct KernelRow {
  std::uint32_t device;  ///< index in DeviceWork::devices
  NameId name;
  std::size_t calls = 0;
  std::int64_t total_ns = 0, union_ns = 0, hidden_ns = 0;
};

/// Each kernel name by itself: its time is the union of its calls, so that names may sum to more than the
/// device.
std::vector<KernelRow> communication_kernels(const Trace& trace, const DeviceWork& work,
                                             const std::vector<KernelType>& types,
                                             const std::vector<DeviceTimes>& devices) {
  std::map<std::pair<std::uint32_t, NameId>, std::vector<Span>> calls;
  for (const DeviceWork::Item& item : work.items) {
    if (types[item.row] == KernelType::kCommunication)
      calls[{item.device, trace.events.name[trace.gpu[item.row].event]}].push_back(
          {item.start_ns, end_of(trace, item)});
  }
  std::vector<KernelRow> rows;
  for (auto& [key, spans] : calls) {
    KernelRow row{key.first, key.second, spans.size()};
    for (const Span& span : spans) row.total_ns = saturating_add(row.total_ns, span.end - span.start);
    const Spans together = merged(std::move(spans));
    row.union_ns = length(together);
    row.hidden_ns = length(intersect(together, devices[row.device].compute));
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::greater{},
                           [](const KernelRow& row) { return row.union_ns - row.hidden_ns; });
  return rows;
}

DataTable kernels_table(const Trace& trace, const std::vector<KernelRow>& rows,
                        const std::vector<DeviceTimes>& devices, std::size_t top) {
  DataTable table{"kernels",
                  "communication kernels, the most exposed first",
                  {{"device", "device", Kind::kText},
                   {"kernel", "kernel", Kind::kText},
                   {"calls", "calls", Kind::kCount},
                   {"total_ns", "total", Kind::kTimeNs},
                   {"time_ns", "merged", Kind::kTimeNs},
                   {"hidden_ns", "hidden", Kind::kTimeNs},
                   {"hidden_share", "hidden share", Kind::kShare},
                   {"exposed_ns", "exposed", Kind::kTimeNs}},
                  {}};
  for (const KernelRow& row : rows)
    table.rows.push_back({device_text(devices[row.device].device), name_cell(trace, row.name),
                          count_cell(row.calls), row.total_ns, row.union_ns, row.hidden_ns,
                          share_cell(row.hidden_ns, row.union_ns), row.union_ns - row.hidden_ns});
  keep_top(table, top);
  return table;
}

void add_headlines(const Breakdown& sum, const std::string& device, AnalysisResult& result) {
  const auto add = [&](const char* metric, bool lower_is_better, std::int64_t part, std::int64_t whole) {
    if (whole > 0)
      result.headlines.push_back(
          {metric, Kind::kShare, lower_is_better, Breakdown::share_of(part, whole), device});
  };
  add("overlap", false, sum.overlapped_ns, sum.communication_ns);
  if (sum.communication_ns > 0)
    add("exposed_communication_share", true, sum.communication_ns - sum.overlapped_ns, sum.span_ns);
  add("exposed_memory_share", true, sum.exposed_memory_ns, sum.span_ns);
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    return result;
  }
  const DeviceWork work = device_work(trace);
  const std::vector<KernelType> types = kernel_types(trace);
  const std::vector<DeviceTimes> devices = device_times(trace, work, types);
  const std::vector<KernelRow> kernels = communication_kernels(trace, work, types, devices);
  result.tables = {devices_table(devices), kernels_table(trace, kernels, devices, options.top)};
  for (const DeviceTimes& times : devices) {
    if (devices.size() > 1) add_headlines(breakdown(times), device_text(times.device), result);
  }
  const Breakdown sum = total(devices);
  add_headlines(sum, "", result);
  if (sum.communication_ns == 0) {
    result.notes.emplace_back("no communication in this trace: there is no overlap to speak of");
  } else if (sum.exposed_communication_ns > sum.span_ns / 10) {
    result.notes.push_back(fmt::format(
        "communication that nothing hides takes {} of the time: larger buckets, an earlier start of the "
        "collectives, or more computation per step would hide it",
        format_percent(Breakdown::share_of(sum.exposed_communication_ns, sum.span_ns))));
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis overlap{
    "overlap", "how much communication is hidden behind computation", Needs::kGpuWork, analyze, {}, nullptr};

}  // namespace analysis
}  // namespace headroom::trace
