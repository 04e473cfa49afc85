// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/error.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/recording/seed_utilization.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/device_table.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {
namespace {

std::int64_t total_length(std::span<const Spans> by_device) {
  std::int64_t total = 0;
  for (const Spans& spans : by_device) total = saturating_add(total, length(spans));
  return total;
}

AnalysisResult pytorch_compatible(const Trace& trace, const AnalysisOptions& options) {
  if (!options.flag("length"))
    throw Error("--pytorch-compat: give --length SECONDS, what the run takes without the profiler");
  const SeedUtilization seed = seed_utilization(trace, options.number("length", 0));
  AnalysisResult result;
  result.tables.push_back({"pytorch",
                           "as PyTorch's compute_utilization",
                           {{"utilization", "utilization", Kind::kNumber},
                            {"mm_conv_utilization", "mm_conv_utilization", Kind::kNumber}},
                           {{seed.utilization, seed.mm_conv_utilization}}});
  result.headlines = {{"utilization", Kind::kNumber, false, seed.utilization, ""},
                      {"mm_conv_utilization", Kind::kNumber, false, seed.mm_conv_utilization, ""}};
  return result;
}

/// The matrix products and convolutions by each rule that there is, over all devices.
DataTable matmul_table(const Trace& trace, const DeviceWork& work, std::int64_t by_op_ns,
                       const Breakdown& sum) {
  std::vector<bool> by_seed(trace.gpu.size());
  for (std::size_t row = 0; row < by_seed.size(); ++row)
    by_seed[row] = is_seed_matmul_or_convolution(trace.names[trace.events.name[trace.gpu[row].event]]);
  DataTable table{"matmul_convolution",
                  "matrix products and convolutions, by rule",
                  {{"rule", "rule", Kind::kText},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share_of_span", "of span", Kind::kShare},
                   {"share_of_busy", "of busy", Kind::kShare}},
                  {}};
  const auto add = [&](const char* rule, std::int64_t time) {
    table.rows.push_back({rule, time, share_cell(time, sum.span_ns), share_cell(time, sum.busy_ns)});
  };
  add("launching op", by_op_ns);
  add("kernel name", total_length(busy_times(trace, work, matmul_or_convolution_by_name(trace))));
  add("gemm|conv|cutlass|wgrad", total_length(busy_times(trace, work, by_seed)));
  return table;
}

/// How busy each device was within the steps; no rows where the file has none.
DataTable steps_table(const Trace& trace, std::span<const DeviceTimes> devices) {
  std::vector<Span> spans;
  for (const Step& step : steps(trace)) spans.push_back({step.start_ns, step.end_ns});
  const auto count = static_cast<std::int64_t>(spans.size());
  const Spans stepped = merged(std::move(spans));
  const std::int64_t steps_ns = length(stepped);
  DataTable table{"within_steps",
                  "within the steps of the profiler",
                  {{"device", "device", Kind::kText},
                   {"steps", "steps", Kind::kCount},
                   {"steps_ns", "steps' time", Kind::kTimeNs},
                   {"busy_ns", "busy", Kind::kTimeNs},
                   {"utilization", "utilization", Kind::kShare},
                   {"kernels_ns", "in kernels", Kind::kTimeNs},
                   {"kernel_utilization", "of steps", Kind::kShare}},
                  {}};
  if (steps_ns == 0) return table;
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
      {"utilization", Kind::kShare, false, sum.utilization(), ""},
      {"compute_share", Kind::kShare, false, share(sum.compute_ns), ""},
      {"exposed_communication_share", Kind::kShare, true, share(sum.exposed_communication_ns), ""},
      {"exposed_memory_share", Kind::kShare, true, share(sum.exposed_memory_ns), ""},
      {"idle_share", Kind::kShare, true, share(sum.idle_ns), ""},
      {"matmul_convolution_share", Kind::kShare, false, share(matmul_ns), ""}};
  for (const DeviceTimes& times : devices) {
    const Breakdown one = breakdown(times);
    if (devices.size() > 1 && one.span_ns > 0)
      found.push_back({"utilization", Kind::kShare, false, one.utilization(), device_text(times.device)});
  }
  return found;
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  if (options.flag("pytorch-compat")) return pytorch_compatible(trace, options);
  if (options.flag("length")) throw Error("--length belongs to --pytorch-compat: give both or neither");
  AnalysisResult result;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    return result;
  }
  const DeviceWork work = device_work(trace);
  const std::vector<DeviceTimes> devices = device_times(trace, work, kernel_types(trace));
  const std::vector<Spans> matmul = busy_times(trace, work, matmul_or_convolution(trace));
  const Breakdown sum = total(devices);
  const std::int64_t matmul_ns = total_length(matmul);
  result.tables = {device_table(trace, devices, matmul), matmul_table(trace, work, matmul_ns, sum)};
  if (DataTable within = steps_table(trace, devices); within.rows.empty()) {
    result.notes.emplace_back("the file has no ProfilerStep: nothing is said of steps");
  } else {
    result.tables.push_back(std::move(within));
  }
  result.headlines = headlines(devices, sum, matmul_ns);
  return result;
}

Needs needs_with(const AnalysisOptions& options) {
  return options.flag("pytorch-compat") ? kSeedUtilizationNeeds : Needs::kGpuWork;
}

constexpr AnalysisOption kOptions[] = {
    {"pytorch-compat", "", "",
     "what PyTorch's compute_utilization answers: every event of a GPU's process, over --length; its pair is "
     "printed by --json -, and by --json TRACE without another operand"},
    {"length", "SECONDS", "", "with --pytorch-compat: what the run takes without the profiler"}};

}  // namespace

namespace analysis {

extern const Analysis utilization{"utilization",
                                  "share of the time in which each device works, and at what",
                                  Needs::kLaunches | Needs::kOps,
                                  analyze,
                                  kOptions,
                                  nullptr,
                                  needs_with};

}  // namespace analysis
}  // namespace headroom::trace
