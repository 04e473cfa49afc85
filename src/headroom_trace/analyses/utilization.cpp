// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

std::int64_t total_length(std::span<const Spans> by_device) {
  std::int64_t total = 0;
  for (const Spans& spans : by_device) total = saturating_add(total, length(spans));
  return total;
}

AnalysisResult pytorch_compatible(const Trace& trace, const AnalysisOptions& options) {
  if (!options.flag("length"))
    throw Error("--pytorch-compat: give --length SECONDS, the time of the run without the profiler");
  const PyTorchUtilization pytorch = pytorch_utilization(trace, options.number("length", 0));
  AnalysisResult result;
  result.tables.push_back(
      {"pytorch",
       "as PyTorch's compute_utilization",
       {Column::number("utilization"), Column::number("mm_conv_utilization", "mm_conv_utilization")},
       {{pytorch.utilization, pytorch.mm_conv_utilization}}});
  result.headlines = {{"utilization", Kind::kNumber, false, pytorch.utilization},
                      {"mm_conv_utilization", Kind::kNumber, false, pytorch.mm_conv_utilization}};
  return result;
}

DataTable matmul_table(const Trace& trace, const DeviceWork& work, std::int64_t by_op_ns,
                       const Breakdown& sum) {
  std::vector<bool> by_pytorch(trace.gpu.size());
  for (std::size_t row = 0; row < by_pytorch.size(); ++row)
    by_pytorch[row] = is_pytorch_matmul_or_convolution(trace.event_name(trace.gpu[row].event));
  DataTable table{"matmul_convolution",
                  "matrix products and convolutions, by rule",
                  {Column::text("rule"), Column::time("time_ns"), Column::share("share_of_span", "of span"),
                   Column::share("share_of_busy", "of busy")}};
  const auto add = [&](const char* rule, std::int64_t time) {
    table.rows.push_back({rule, time, share_cell(time, sum.span_ns), share_cell(time, sum.busy_ns)});
  };
  add("launching op", by_op_ns);
  add("kernel name", total_length(busy_times(trace, work, matmul_or_convolution_by_name(trace))));
  add("gemm|conv|cutlass|wgrad", total_length(busy_times(trace, work, by_pytorch)));
  return table;
}

DataTable steps_table(const StepSet& steps, std::span<const DeviceTimes> devices) {
  std::vector<Span> spans;
  for (const Step& step : steps.steps) spans.push_back({step.start_ns, step.end_ns});
  const auto count = static_cast<std::int64_t>(spans.size());
  const Spans stepped = merged(std::move(spans));
  const std::int64_t steps_ns = length(stepped);
  DataTable table{
      "within_steps",
      "within the steps of the profiler",
      {Column::text("device"), Column::count("steps"), Column::time("steps_ns", "steps' time"),
       Column::time("busy_ns"), Column::share("utilization"), Column::time("kernels_ns", "in kernels"),
       Column::share("kernel_utilization", "of steps")}};
  if (steps_ns == 0 || steps.is_device_behind()) return table;
  for (const DeviceTimes& times : devices) {
    const std::int64_t busy = length(intersect(times.busy(), stepped));
    const std::int64_t kernels = length(intersect(unite(times.compute, times.communication), stepped));
    table.rows.push_back({device_text(times.device), count, steps_ns, busy, share_cell(busy, steps_ns),
                          kernels, share_cell(kernels, steps_ns)});
  }
  return table;
}

std::vector<Headline> headlines(std::span<const DeviceTimes> devices, const Breakdown& sum,
                                std::int64_t matmul_ns) {
  if (sum.span_ns <= 0) return {};
  const auto share = [&](std::int64_t part) { return Breakdown::share_of(part, sum.span_ns); };
  std::vector<Headline> found{
      {"utilization", Kind::kShare, false, sum.utilization()},
      {"compute_share", Kind::kShare, false, share(sum.compute_ns)},
      {"exposed_communication_share", Kind::kShare, true, share(sum.exposed_communication_ns)},
      {"exposed_memory_share", Kind::kShare, true, share(sum.exposed_memory_ns)},
      {"idle_share", Kind::kShare, true, share(sum.idle_ns)},
      {"matmul_convolution_share", Kind::kShare, false, share(matmul_ns)}};
  for (const DeviceTimes& times : devices) {
    const Breakdown one = breakdown(times);
    if (devices.size() > 1 && one.span_ns > 0)
      found.push_back({"utilization", Kind::kShare, false, one.utilization(), device_text(times.device)});
  }
  return found;
}

AnalysisResult analyze_utilization(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (options.flag("pytorch-compat")) return pytorch_compatible(trace, options);
  if (options.flag("length")) throw Error("--length belongs to --pytorch-compat: give both or neither");
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const DeviceWork& work = index.work();
  const std::vector<DeviceTimes>& devices = index.devices();
  const std::vector<Spans> matmul = busy_times(trace, work, matmul_or_convolution(trace));
  const Breakdown sum = total(devices);
  const std::int64_t matmul_ns = total_length(matmul);
  result.tables = {device_table(trace, devices, matmul), matmul_table(trace, work, matmul_ns, sum)};
  if (DataTable within = steps_table(index.steps(), devices); within.rows.empty()) {
    result.notes.push_back(index.steps().is_device_behind() ? device_behind_note(index.steps())
                                                            : "no steps in the file: no figures per step");
  } else {
    result.tables.push_back(std::move(within));
  }
  result.headlines = headlines(devices, sum, matmul_ns);
  return result;
}

Needs needs_with_utilization(const AnalysisOptions& options) {
  return options.flag("pytorch-compat") ? kPyTorchUtilizationNeeds : Needs::kGpuWork;
}

constexpr AnalysisOption kUtilizationOptions[] = {
    {"pytorch-compat", "", "",
     "compute PyTorch's compute_utilization: every event of a GPU's process, over --length; --json - prints "
     "its pair, and so does --json TRACE without another operand"},
    {"length", "SECONDS", "", "time of the run without the profiler, for --pytorch-compat"}};

struct WeightedMean {
  double sum = 0, weight = 0;
  void add(double value, double time) {
    sum += value * time;
    weight += time;
  }
  Cell cell() const { return weight > 0 ? Cell{sum / weight} : Cell{}; }
};

struct Gaps {
  std::int64_t kernels = 0, no_blocks = 0, worked_out_blocks = 0, no_occupancy = 0, worked_out_occupancy = 0;
};

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

/// Integral of the share of multiprocessors with a block, in multiprocessor-ns; concurrent blocks add up to
/// at most 1.
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
    if (running == 0) blocks = 0;  // removes the rounding error
  }
  return filled;
}

DataTable device_rows(const Trace& trace, const DeviceWork& work, const std::vector<Kernel>& kernels,
                      const std::vector<Spans>& windows) {
  DataTable table{
      "devices",
      "devices",
      {Column::text("device"), Column::text("name"), Column::time("time_ns"), Column::count("kernels"),
       Column::share("sm_efficiency", "SM efficiency").main(), Column::share("achieved_occupancy").main()}};
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
  DataTable table{
      "kernels",
      "kernels by total time, means weighted by it",
      {Column::text("name"), Column::count("count"), Column::time("total_ns").main(),
       Column::number("blocks_per_sm", "blocks per SM"),
       Column::share("sm_efficiency", "SM efficiency").main(), Column::share("achieved_occupancy").main(),
       Column::count("registers_per_thread", "registers")}};
  for (const Group& group : groups) {
    table.rows.push_back({std::string(trace.names[group.name]), group.count, group.total, group.blocks.cell(),
                          group.efficiency.cell(), group.occupancy.cell(),
                          group.registers < 0 ? Cell{} : Cell{std::int64_t{group.registers}}});
  }
  return table;
}

/// The steps for every device; without steps, each device's own span.
std::vector<Spans> windows_of(const TraceIndex& index, std::vector<std::string>& notes) {
  std::vector<Span> spans;
  const bool is_behind = index.steps().is_device_behind();
  if (!is_behind) {
    for (const Step& step : index.steps().steps) spans.push_back({step.start_ns, step.end_ns});
  }
  if (Spans stepped = merged(std::move(spans)); !stepped.empty())
    return std::vector<Spans>(index.work().devices.size(), stepped);
  notes.push_back(is_behind ? device_behind_note(index.steps()) + "; shares are of each device's own span"
                            : "no steps in the file: shares are of each device's own span");
  std::vector<Spans> windows;
  for (const DeviceTimes& times : index.devices())
    windows.push_back(merged({{times.extent.start_ns, times.extent.end_ns}}));
  return windows;
}

void note_gaps(const Gaps& gaps, std::vector<std::string>& notes) {
  if (gaps.no_blocks > 0) {
    notes.push_back(
        fmt::format("{} of {} kernels have neither blocks per SM nor a grid with device properties: their SM "
                    "efficiency counts as 0",
                    gaps.no_blocks, gaps.kernels));
  }
  if (gaps.worked_out_blocks > 0) {
    notes.push_back(
        fmt::format("blocks per SM of {} kernels are computed from their grids", gaps.worked_out_blocks));
  }
  if (gaps.no_occupancy > 0) {
    notes.push_back(fmt::format("{} of {} kernels have no data on occupancy: they are left out of its mean",
                                gaps.no_occupancy, gaps.kernels));
  }
  if (gaps.worked_out_occupancy > 0) {
    notes.push_back(fmt::format(
        "the occupancy of {} kernels is an upper bound computed from their warps: it is not in the file",
        gaps.worked_out_occupancy));
  }
}

AnalysisResult analyze_efficiency(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const DeviceWork& work = index.work();
  Gaps gaps;
  const std::vector<Kernel> kernels = kernels_of(trace, work, gaps);
  DataTable devices = device_rows(trace, work, kernels, windows_of(index, result.notes));
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

DataTable devices_table(const std::vector<DeviceTimes>& devices) {
  DataTable table{
      "devices",
      "overlapped and exposed communication",
      {Column::text("device"), Column::time("span_ns"), Column::time("compute_ns"),
       Column::time("communication_ns").main(), Column::time("overlap_ns", "overlapped"),
       Column::share("overlap_share", "overlap").main(), Column::time("exposed_communication_ns").main(),
       Column::share("exposed_communication_share", "share of span").main(),
       Column::time("memory_ns", "copies and sets"), Column::time("exposed_memory_ns", "exposed copies"),
       Column::share("exposed_memory_share", "share of span")}};
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

struct KernelRow {
  std::uint32_t device;  ///< index in DeviceWork::devices
  NameId name;
  std::size_t calls = 0;
  std::int64_t total_ns = 0, union_ns = 0, hidden_ns = 0;
};

/// United by name: names may sum to more than the device's time.
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
  DataTable table{
      "kernels",
      "communication kernels, the most exposed first",
      {Column::text("device"), Column::text("kernel").identifying(), Column::count("calls"),
       Column::time("total_ns").main(), Column::time("time_ns", "merged"), Column::time("hidden_ns"),
       Column::share("hidden_share", "overlap"), Column::time("exposed_ns").main()}};
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

AnalysisResult analyze_overlap(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const DeviceWork& work = index.work();
  const std::vector<KernelType>& types = index.types();
  const std::vector<DeviceTimes>& devices = index.devices();
  const std::vector<KernelRow> kernels = communication_kernels(trace, work, types, devices);
  result.tables = {devices_table(devices), kernels_table(trace, kernels, devices, options.top)};
  for (const DeviceTimes& times : devices) {
    if (devices.size() > 1) add_headlines(breakdown(times), device_text(times.device), result);
  }
  const Breakdown sum = total(devices);
  add_headlines(sum, "", result);
  if (sum.communication_ns == 0) {
    result.answer = {fmt::format("no communication in this trace; exposed copies {} of the time",
                                 format_percent(Breakdown::share_of(sum.exposed_memory_ns, sum.span_ns)))};
  } else if (sum.exposed_communication_ns > sum.span_ns / 10) {
    result.notes.push_back(
        fmt::format("exposed communication takes {} of the time: larger buckets, earlier collectives or more "
                    "compute per step would overlap it",
                    format_percent(Breakdown::share_of(sum.exposed_communication_ns, sum.span_ns))));
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis utilization{.name = "utilization",
                                  .summary = "show how busy each device is, and with what",
                                  .needs = Needs::kLaunches | Needs::kOps,
                                  .analyze = analyze_utilization,
                                  .options = kUtilizationOptions,
                                  .needs_with = needs_with_utilization,
                                  .needs_times = true};

extern const Analysis efficiency{.name = "efficiency",
                                 .summary = "show how full the GPUs were: SM efficiency, achieved occupancy",
                                 .needs = Needs::kGpuArguments,
                                 .analyze = analyze_efficiency,
                                 .needs_times = true};

extern const Analysis overlap{.name = "overlap",
                              .summary = "show how much communication overlaps compute or is exposed",
                              .needs = Needs::kGpuWork,
                              .analyze = analyze_overlap,
                              .needs_times = true};

}  // namespace analysis

}  // namespace headroom::trace
