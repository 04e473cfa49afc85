// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/device_table.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/occupancy.h"

namespace headroom::trace {
namespace {

/// A mean weighted by time.
struct WeightedMean {
  double sum = 0, weight = 0;
  void add(double value, double time) {
    sum += value * time;
    weight += time;
  }
  Cell cell() const { return weight > 0 ? Cell{sum / weight} : Cell{}; }
};

/// What the file does not say, counted.
struct Gaps {
  std::int64_t kernels = 0, no_blocks = 0, worked_out_blocks = 0, no_occupancy = 0, worked_out_occupancy = 0;
};

/// One kernel, read once.
struct Kernel {
  std::uint32_t device = 0;  ///< index of DeviceWork::devices
  NameId name = 0;
  Span span;
  std::optional<KernelNumber> blocks, occupancy;
  std::int32_t registers = -1;
};

std::vector<Kernel> kernels_of(const Trace& trace, const DeviceWork& work, Gaps& gaps) {
  std::vector<Kernel> kernels;
  for (const DeviceWork::Item& item : work.items) {
    const GpuDetail& detail = trace.gpu[item.row];
    if (trace.events.category[detail.event] != Category::kKernel) continue;
    const Kernel& kernel = kernels.emplace_back(Kernel{item.device,
                                                       trace.events.name[detail.event],
                                                       {item.start_ns, end_of(trace, item)},
                                                       blocks_per_multiprocessor(trace, detail),
                                                       achieved_occupancy(trace, detail),
                                                       detail.registers_per_thread});
    ++gaps.kernels;
    if (!kernel.blocks)
      ++gaps.no_blocks;
    else if (!kernel.blocks->is_of_file)
      ++gaps.worked_out_blocks;
    if (!kernel.occupancy)
      ++gaps.no_occupancy;
    else if (!kernel.occupancy->is_of_file)
      ++gaps.worked_out_occupancy;
  }
  return kernels;
}

/// The part of the device's multiprocessors that had a block, over time: blocks of kernels that run at once
/// are added and held at 1, within `windows`, in multiprocessor-ns.
double filled_ns(const std::vector<Kernel>& kernels, std::uint32_t device, const Spans& windows) {
  struct Edge {
    std::int64_t at;
    double blocks;
    bool is_start;
  };
  std::vector<Edge> edges;
  for (const Kernel& kernel : kernels) {
    if (kernel.device != device || !kernel.blocks) continue;
    edges.push_back({kernel.span.start, kernel.blocks->value, true});
    edges.push_back({kernel.span.end, kernel.blocks->value, false});
  }
  std::ranges::stable_sort(edges, {}, &Edge::at);
  double filled = 0, blocks = 0;
  std::int64_t running = 0, from = 0;
  for (const Edge& edge : edges) {
    if (running > 0)
      filled += std::clamp(blocks, 0.0, 1.0) * static_cast<double>(length_within(windows, {from, edge.at}));
    from = edge.at;
    running += edge.is_start ? 1 : -1;
    blocks += edge.is_start ? edge.blocks : -edge.blocks;
    if (running == 0) blocks = 0;  // what rounding left must not add up
  }
  return filled;
}

DataTable device_rows(const Trace& trace, const DeviceWork& work, const std::vector<Kernel>& kernels,
                      const std::vector<Spans>& windows) {
  DataTable table{"devices",
                  "devices",
                  {{"device", "device", Kind::kText},
                   {"name", "name", Kind::kText},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"kernels", "kernels", Kind::kCount},
                   {"sm_efficiency", "SM efficiency", Kind::kShare},
                   {"achieved_occupancy", "achieved occupancy", Kind::kShare}},
                  {}};
  for (std::uint32_t device = 0; device < work.devices.size(); ++device) {
    WeightedMean occupancy;
    std::int64_t count = 0;
    bool has_blocks = false;
    for (const Kernel& kernel : kernels) {
      if (kernel.device != device) continue;
      ++count;
      has_blocks = has_blocks || kernel.blocks;
      if (kernel.occupancy) {
        occupancy.add(kernel.occupancy->value,
                      static_cast<double>(length_within(windows[device], kernel.span)));
      }
    }
    const std::int64_t time = length(windows[device]);
    const bool known = has_blocks && time > 0;
    table.rows.push_back(
        {device_text(work.devices[device]), device_name(trace, work.devices[device]), time, count,
         known ? Cell{filled_ns(kernels, device, windows[device]) / static_cast<double>(time)} : Cell{},
         occupancy.cell()});
  }
  return table;
}

DataTable kernel_rows(const Trace& trace, const std::vector<Kernel>& kernels) {
  struct Group {
    NameId name = 0;
    std::int64_t count = 0, total = 0;
    std::int32_t registers = -1;
    WeightedMean blocks, efficiency, occupancy;
  };
  std::vector<Group> groups(trace.names.size());
  for (const Kernel& kernel : kernels) {
    Group& group = groups[kernel.name];
    const std::int64_t duration = kernel.span.end - kernel.span.start;
    group.name = kernel.name;
    ++group.count;
    group.total = saturating_add(group.total, duration);
    group.registers = std::max(group.registers, kernel.registers);
    const auto time = static_cast<double>(duration);
    if (kernel.blocks) group.blocks.add(kernel.blocks->value, time);
    if (kernel.blocks) group.efficiency.add(std::min(kernel.blocks->value, 1.0), time);
    if (kernel.occupancy) group.occupancy.add(kernel.occupancy->value, time);
  }
  std::erase_if(groups, [](const Group& group) { return group.count == 0; });
  std::ranges::stable_sort(groups, std::greater{}, &Group::total);
  DataTable table{"kernels",
                  "kernels by total time, means weighted by it",
                  {{"name", "name", Kind::kText},
                   {"count", "count", Kind::kCount},
                   {"total_ns", "total", Kind::kTimeNs},
                   {"blocks_per_sm", "blocks per SM", Kind::kNumber},
                   {"sm_efficiency", "SM efficiency", Kind::kShare},
                   {"achieved_occupancy", "achieved occupancy", Kind::kShare},
                   {"registers_per_thread", "registers", Kind::kCount}},
                  {}};
  for (const Group& group : groups) {
    table.rows.push_back({std::string(trace.names[group.name]), group.count, group.total, group.blocks.cell(),
                          group.efficiency.cell(), group.occupancy.cell(),
                          group.registers < 0 ? Cell{} : Cell{std::int64_t{group.registers}}});
  }
  return table;
}

/// The steps, as one set of times for each device; where there are none, each device's own span.
std::vector<Spans> windows_of(const Trace& trace, const DeviceWork& work, std::vector<std::string>& notes) {
  std::vector<Span> spans;
  for (const Step& step : steps(trace)) spans.push_back({step.start_ns, step.end_ns});
  if (Spans stepped = merged(std::move(spans)); !stepped.empty())
    return std::vector<Spans>(work.devices.size(), stepped);
  notes.emplace_back("the file has no ProfilerStep: shares are of each device's own span");
  std::vector<Spans> windows;
  for (const DeviceTimes& times : device_times(trace, work, kernel_types(trace)))
    windows.push_back(merged({{times.extent.start_ns, times.extent.end_ns}}));
  return windows;
}

void note_gaps(const Gaps& gaps, std::vector<std::string>& notes) {
  if (gaps.no_blocks > 0) {
    notes.push_back(
        fmt::format("{} of {} kernels carry neither blocks per SM nor a grid with the device's "
                    "properties: they count as filling nothing",
                    gaps.no_blocks, gaps.kernels));
  }
  if (gaps.worked_out_blocks > 0) {
    notes.push_back(
        fmt::format("blocks per SM of {} kernels are worked out from their grids", gaps.worked_out_blocks));
  }
  if (gaps.no_occupancy > 0) {
    notes.push_back(
        fmt::format("{} of {} kernels carry nothing to tell their occupancy from: they are left "
                    "out of its mean",
                    gaps.no_occupancy, gaps.kernels));
  }
  if (gaps.worked_out_occupancy > 0) {
    notes.push_back(
        fmt::format("the occupancy of {} kernels is worked out from their warps, an upper bound: "
                    "the file does not say it",
                    gaps.worked_out_occupancy));
  }
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    return result;
  }
  const DeviceWork work = device_work(trace);
  Gaps gaps;
  const std::vector<Kernel> kernels = kernels_of(trace, work, gaps);
  DataTable devices = device_rows(trace, work, kernels, windows_of(trace, work, result.notes));
  for (const std::vector<Cell>& row : devices.rows) {
    const std::string device = devices.rows.size() > 1 ? std::get<std::string>(row[0]) : "";
    if (const double* efficiency = std::get_if<double>(&row[4]))
      result.headlines.push_back({"sm_efficiency", Kind::kShare, false, *efficiency, device});
    if (const double* occupancy = std::get_if<double>(&row[5]))
      result.headlines.push_back({"achieved_occupancy", Kind::kShare, false, *occupancy, device});
  }
  note_gaps(gaps, result.notes);
  DataTable by_kernel = kernel_rows(trace, kernels);
  if (const std::size_t left_out = keep_top(by_kernel, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more rows: --top 0 shows all", left_out));
  result.tables = {std::move(devices), std::move(by_kernel)};
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis efficiency{"efficiency",
                                 "how full the devices were: SM efficiency, achieved occupancy",
                                 Needs::kGpuArguments,
                                 analyze,
                                 {},
                                 nullptr};

}  // namespace analysis
}  // namespace headroom::trace
