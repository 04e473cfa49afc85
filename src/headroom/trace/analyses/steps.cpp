// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/stats/quantile.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/work/culprit_table.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/host_activity.h"

namespace headroom::trace {
namespace {

/// What a moment of a step is counted as: the first of these that runs, on any device or thread. The order is
/// that of PyTorch's tensorboard plugin.
enum Part : std::size_t { kKernel, kMemcpy, kMemset, kCommunication, kRuntime, kDataLoader, kCpu, kParts };
constexpr std::array<const char*, kParts> kPartKeys{
    "kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns", "data_loader_ns", "cpu_ns"};
constexpr std::array<const char*, kParts> kPartTitles{"kernel",  "memcpy",     "memset", "communication",
                                                      "runtime", "DataLoader", "CPU"};

/// The time of each part with that of the parts before it taken away.
std::array<Spans, kParts> exclusive_parts(const Trace& trace) {
  std::array<std::vector<Span>, kParts> raw;
  const std::vector<KernelType> types = kernel_types(trace);
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const Part part = trace.events.category[event] == Category::kGpuMemset ? kMemset
                      : types[row] == KernelType::kMemory                  ? kMemcpy
                      : types[row] == KernelType::kCommunication           ? kCommunication
                                                                           : kKernel;
    raw[part].push_back({trace.events.start_ns[event], trace.events.end_ns(event)});
  }
  std::array<Spans, kParts> parts;
  for (std::size_t part = 0; part < kRuntime; ++part) parts[part] = merged(std::move(raw[part]));
  parts[kCommunication] = unite(parts[kCommunication], host_communication(trace));
  parts[kRuntime] = unite(times_of(trace, Category::kRuntime), times_of(trace, Category::kDriver));
  parts[kDataLoader] = data_loading(trace);
  parts[kCpu] = operators(trace);
  Spans taken;
  for (Spans& part : parts) {
    const Spans all = unite(taken, part);
    part = subtract(part, taken);
    taken = all;
  }
  return parts;
}

/// The steps of the file; the whole of it as one where it has none.
std::vector<Step> steps_or_all(const Trace& trace, std::vector<std::string>& notes) {
  std::vector<Step> found = steps(trace);
  if (!found.empty()) return found;
  const Extent whole = whole_extent(trace);
  notes.emplace_back("the file has no ProfilerStep: all of it is shown as one step");
  return {{-1, "all", whole.start_ns, whole.end_ns}};
}

DataTable step_table(const std::vector<Step>& steps, const std::array<Spans, kParts>& parts,
                     const Spans& busy) {
  DataTable table{"steps",
                  "steps",
                  {{"step", "step", Kind::kText},
                   {"start_ns", "start", Kind::kInstantNs},
                   {"wall_ns", "wall", Kind::kTimeNs},
                   {"busy_ns", "busy", Kind::kTimeNs},
                   {"utilization", "utilization", Kind::kShare}},
                  {}};
  for (std::size_t part = 0; part < kParts; ++part)
    table.columns.push_back({kPartKeys[part], kPartTitles[part], Kind::kTimeNs});
  table.columns.push_back({"other_ns", "other", Kind::kTimeNs});
  for (const Step& step : steps) {
    const Span window{step.start_ns, step.end_ns};
    const std::int64_t wall = step.end_ns - step.start_ns, busy_ns = length_within(busy, window);
    std::vector<Cell>& row = table.rows.emplace_back(
        std::vector<Cell>{step_text(step), step.start_ns, wall, busy_ns, share_cell(busy_ns, wall)});
    std::int64_t other = wall;
    for (const Spans& part : parts) {
      const std::int64_t time = length_within(part, window);
      row.emplace_back(time);
      other -= time;
    }
    row.emplace_back(other);
  }
  return table;
}

/// A device's busy time in each step, where there are several devices.
DataTable device_step_table(const std::vector<Step>& steps, std::span<const DeviceTimes> devices) {
  DataTable table{"step_devices",
                  "steps by device",
                  {{"step", "step", Kind::kText},
                   {"device", "device", Kind::kText},
                   {"wall_ns", "wall", Kind::kTimeNs},
                   {"busy_ns", "busy", Kind::kTimeNs},
                   {"utilization", "utilization", Kind::kShare}},
                  {}};
  std::vector<Spans> busy;
  for (const DeviceTimes& times : devices) busy.push_back(times.busy());
  for (const Step& step : steps) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::int64_t wall = step.end_ns - step.start_ns,
                         busy_ns = length_within(busy[i], {step.start_ns, step.end_ns});
      table.rows.push_back(
          {step_text(step), device_text(devices[i].device), wall, busy_ns, share_cell(busy_ns, wall)});
    }
  }
  return table;
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (trace.events.size() == 0) {
    result.notes.emplace_back("the file holds no events with a duration");
    return result;
  }
  const std::vector<Step> found = steps_or_all(trace, result.notes);
  const std::vector<DeviceTimes> devices = device_times(trace, device_work(trace), kernel_types(trace));
  Spans busy;
  for (const DeviceTimes& times : devices) busy = unite(busy, times.busy());
  DataTable table = step_table(found, exclusive_parts(trace), busy);
  std::vector<double> walls, utilizations;
  for (const Step& step : found) {
    const auto wall = static_cast<double>(step.end_ns - step.start_ns);
    walls.push_back(wall);
    if (wall > 0)
      utilizations.push_back(static_cast<double>(length_within(busy, {step.start_ns, step.end_ns})) / wall);
  }
  result.headlines.push_back({"steps", Kind::kCount, false, static_cast<double>(found.size()), ""});
  result.headlines.push_back({"step_time_ns", Kind::kTimeNs, true, median(walls), ""});
  if (!utilizations.empty())
    result.headlines.push_back({"step_utilization", Kind::kShare, false, median(utilizations), ""});
  if (const std::size_t left_out = keep_top(table, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more steps: --top 0 shows all", left_out));
  result.tables.push_back(std::move(table));
  if (devices.size() > 1) {
    result.tables.push_back(device_step_table(found, devices));
    keep_top(result.tables.back(), options.top == 0 ? 0 : options.top * devices.size());
  }
  if (!trace.gpu.empty()) {
    const std::size_t shown = options.top == 0 ? found.size() : std::min(options.top, found.size());
    result.tables.push_back(
        step_culprit_table(trace, launches(trace), std::span(found).first(shown), options.top));
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis steps{"steps",
                            "each step of the profiler: wall time, utilization, what it was spent on, why "
                            "the devices had nothing to do",
                            Needs::kLaunches | Needs::kOps | Needs::kPython,
                            analyze,
                            {},
                            nullptr};

}  // namespace analysis
}  // namespace headroom::trace
