// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/cost/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/tensor_arguments.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

std::int32_t main_device(const Trace& trace) {
  std::map<std::int32_t, double> times;
  for (const GpuDetail& work : trace.gpu)
    times[device_of(trace, work)] += static_cast<double>(trace.events.duration_ns[work.event]);
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

double memory_of(const Trace& trace, std::int32_t device) {
  for (const DeviceProperties& properties : trace.devices) {
    if (properties.id == device) return properties.total_memory_bytes;
  }
  return 0;
}

double positive(const AnalysisOptions& options, const char* name) {
  const double value = options.number(name, 0);
  if (value <= 0) throw Error(fmt::format("--{} {}: give a positive number", name, options.text(name)));
  return value;
}

/// Returns zeros if unknown.
DevicePeaks peaks_of(const Trace& trace, const AnalysisOptions& options, std::vector<std::string>& notes) {
  const std::int32_t device = main_device(trace);
  const std::string name = options.text("peaks-of", device_name(trace, device));
  const DevicePeaks* known = find_device_peaks(name, options.flag("peaks-of") ? 0 : memory_of(trace, device));
  if (known == nullptr && options.flag("peaks-of"))
    throw Error(
        fmt::format("--peaks-of {}: unknown device; give --peak-flops and --peak-bandwidth", quote(name)));
  DevicePeaks peaks = known == nullptr ? DevicePeaks{} : *known;
  if (options.flag("peak-flops")) {
    const double flops = positive(options, "peak-flops");
    for (double* peak : {&peaks.vector_f64, &peaks.vector_f32, &peaks.f64, &peaks.f32, &peaks.tf32,
                         &peaks.f16, &peaks.bf16, &peaks.fp8, &peaks.int8}) {
      *peak = flops;
    }
  }
  if (options.flag("peak-bandwidth")) peaks.bytes_per_second = positive(options, "peak-bandwidth");
  if (known == nullptr && !(options.flag("peak-flops") && options.flag("peak-bandwidth"))) {
    notes.push_back(
        fmt::format("the peaks of {} are unknown, so there is no roofline: give --peak-flops and "
                    "--peak-bandwidth, or --peaks-of",
                    name.empty() ? "the device, which the file does not name," : quote(name)));
  } else if (known != nullptr) {
    notes.push_back(fmt::format("roofline of {} from its data sheet: {} TFLOP/s in f16, {} in f32, {} GB/s",
                                peaks.name, format_number(peaks.f16 / 1e12), format_number(peaks.f32 / 1e12),
                                format_number(peaks.bytes_per_second / 1e9)));
  }
  return peaks;
}

Cell compact_cell(const Trace& trace, NameId text) {
  if (text == kNoName) return {};
  return single_line(trace.names[text]);
}

bool has_roof(const RooflineRow& row, const DevicePeaks& peaks) {
  return peaks.bytes_per_second > 0 &&
         (row.flops == 0 || peaks.flops_per_second(row.math, row.is_product) > 0);
}

DataTable op_table(const Trace& trace, const Roofline& found, const DevicePeaks& peaks, double total_ns) {
  DataTable table{
      "roofline",
      "operators against the roofline",
      {Column::text("op", "operator"), Column::text("dims", "shapes").main(), Column::text("types").detail(),
       Column::text("math", "peak of").detail(), Column::count("calls"),
       Column::time("device_ns", "device time"), Column::share("share", "of all"),
       Column::flops("gflops_per_second", "achieved"), Column::bandwidth("gb_per_second", "bandwidth"),
       Column::text("bound", "bound by"), Column::share("roof_share", "of roof").main(),
       Column::time("above_roof_ns", "above roof").main(), Column::text("strides").detail(),
       Column::text("arguments", "convolution arguments").detail()}};
  for (const RooflineRow& row : found.rows) {
    const bool is_bounded = has_roof(row, peaks);
    table.rows.push_back(
        {name_cell(trace, row.op), compact_cell(trace, row.dims), compact_cell(trace, row.types),
         row.is_product ? Cell{std::string(to_string(row.math))} : Cell{}, row.calls, row.device_ns,
         quotient_cell(row.device_ns, total_ns), row.flops / row.device_ns, row.bytes / row.device_ns,
         is_bounded ? Cell{std::string(row.compute_ns > row.memory_ns ? "compute" : "memory")} : Cell{},
         is_bounded ? Cell{row.roof_ns / row.device_ns} : Cell{},
         is_bounded ? Cell{row.device_ns - row.roof_ns} : Cell{}, compact_cell(trace, row.strides),
         compact_cell(trace, row.values)});
  }
  return table;
}

DataTable coverage_table(const Roofline& found, double total_ns) {
  DataTable table{"coverage",
                  "device time by whether the cost is known",
                  {Column::text("kind"), Column::count("works", "kernels, copies, sets"),
                   Column::time("device_ns", "device time").main(), Column::share("share", "of all")}};
  for (std::size_t kind = 0; kind < kCoverages; ++kind)
    table.rows.push_back({std::string(to_string(static_cast<Coverage>(kind))), found.covered_works[kind],
                          found.covered_ns[kind], quotient_cell(found.covered_ns[kind], total_ns)});
  return table;
}

DataTable unknown_table(const Trace& trace, const Roofline& found, double total_ns) {
  DataTable table{"unknown",
                  "operators of unknown cost",
                  {Column::text("op", "operator"), Column::count("works", "kernels, copies, sets"),
                   Column::time("device_ns", "device time").main(), Column::share("share", "of all")}};
  for (const Roofline::Unknown& one : found.unknown)
    table.rows.push_back(
        {name_cell(trace, one.op), one.works, one.device_ns, quotient_cell(one.device_ns, total_ns)});
  return table;
}

void add_headlines(const Roofline& found, const DevicePeaks& peaks, double total_ns, AnalysisResult& result) {
  double device_ns = 0, roof_ns = 0, faster_ns = 0;
  for (const RooflineRow& row : found.rows) {
    if (!has_roof(row, peaks)) continue;
    device_ns += row.device_ns;
    roof_ns += row.roof_ns;
    if (row.roof_ns > 1.02 * row.device_ns) faster_ns += row.device_ns;
  }
  result.headlines.push_back(
      {"roofline_covered", Kind::kShare, false,
       total_ns > 0 ? found.covered_ns[static_cast<std::size_t>(Coverage::kKnown)] / total_ns : 0});
  if (device_ns <= 0) return;
  result.headlines.push_back({"roof_share", Kind::kShare, false, roof_ns / device_ns});
  if (faster_ns > 0)
    result.notes.push_back(
        fmt::format("{} of the time is in operators faster than the roofline: their data stayed in cache, "
                    "the algorithm needs fewer operations (Winograd, FFT), or the assumed device is wrong",
                    format_percent(faster_ns / device_ns)));
}

AnalysisResult analyze_roofline(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const DevicePeaks peaks = peaks_of(trace, options, result.notes);
  const Roofline found = roofline(trace, peaks);
  double total_ns = 0;
  for (const double covered : found.covered_ns) total_ns += covered;
  result.tables = {op_table(trace, found, peaks, total_ns), coverage_table(found, total_ns),
                   unknown_table(trace, found, total_ns)};
  keep_top(result.tables[0], options.top);
  keep_top(result.tables[2], options.top);
  add_headlines(found, peaks, total_ns, result);
  if (std::ranges::none_of(trace.ops, [](const OpDetail& op) { return op.dims != kNoName; }))
    result.notes.emplace_back(
        "operator costs are unknown, because the trace has no shapes: record it with record_shapes=True");
  return result;
}

constexpr AnalysisOption kRooflineOptions[] = {
    {"peak-flops", "FLOPS", "", "use this FLOP/s for every dtype instead of the data sheet: 989e12"},
    {"peak-bandwidth", "BYTES", "", "use this memory bandwidth in bytes/s: 3.35e12"},
    {"peaks-of", "NAME", "the device of the trace",
     "use the peaks of another device: H100, MI300X, A100 80GB"}};

}  // namespace

namespace analysis {

extern const Analysis roofline{.name = "roofline",
                               .summary = "compare operators with the peaks of the device",
                               .needs = Needs::kLaunches | Needs::kOps | Needs::kOpArguments,
                               .analyze = analyze_roofline,
                               .options = kRooflineOptions};

}  // namespace analysis
}  // namespace headroom::trace
