// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/launch_calls.h"
#include "headroom/trace/work/launch_tables.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kDefaultCallCutoffNs = 50'000, kDefaultDelayCutoffNs = 100'000;

constexpr AnalysisOption kOptions[] = {
    {"call-cutoff", "TIME", "50us", "a call that takes longer is an outlier"},
    {"delay-cutoff", "TIME", "100us", "work that starts later after its call is delayed"},
    {"each", "", "", "a table with a row for each piece of GPU work that has a launch"}};

void sum_up(const Launches& launches, AnalysisResult& result) {
  std::vector<std::int64_t> delays, call_times;
  std::size_t kernels = 0, short_kernels = 0, early = 0;
  for (const LaunchCall& call : launches.calls) {
    delays.push_back(launches.delay_ns(call));
    call_times.push_back(launches.call_ns(call));
    kernels += call.kind == LaunchKind::kKernel;
    short_kernels += launches.is_short(call);
    early += launches.trace.events.start_ns[launches.trace.gpu[call.rows.front()].event] <
             launches.trace.events.start_ns[call.call];
  }
  if (!delays.empty()) {
    const TimeSpread delay = time_spread(delays), call = time_spread(call_times);
    result.headlines = {
        {"launch_delay_median_ns", Kind::kTimeNs, true, delay.median_ns, ""},
        {"launch_delay_p99_ns", Kind::kTimeNs, true, delay.p99_ns, ""},
        {"launch_call_median_ns", Kind::kTimeNs, true, call.median_ns, ""},
        {"launch_call_total_ns", Kind::kTimeNs, true, static_cast<double>(call.total_ns), ""}};
  }
  if (kernels > 0) {
    const double share = static_cast<double>(short_kernels) / static_cast<double>(kernels);
    result.headlines.push_back({"short_kernel_share", Kind::kShare, true, share, ""});
    if (share > 0.5)
      result.notes.push_back(fmt::format(
          "{} of the kernels are shorter than the call that launches them: the CPU cannot keep the device "
          "busy with them. Fuse them (torch.compile), or launch them as a CUDA graph",
          format_percent(share)));
  }
  if (early > 0)
    result.notes.push_back(fmt::format(
        "{} pieces of GPU work start before their own launch: the clocks of CPU and GPU differ in this file, "
        "and every delay may be off by as much",
        early));
  const auto unknown = std::ranges::count(launches.launch, kNone);
  if (unknown > 0)
    result.notes.push_back(fmt::format("{} of {} pieces of GPU work have no launch in the file", unknown,
                                       launches.trace.gpu.size()));
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    return result;
  }
  const auto call_cutoff = options.whole_time_ns("call-cutoff", kDefaultCallCutoffNs);
  const auto delay_cutoff = options.whole_time_ns("delay-cutoff", kDefaultDelayCutoffNs);
  const Launches found(trace);
  result.tables = {launch_spread_table(found),
                   launch_functions_table(found, call_cutoff, delay_cutoff),
                   launch_coverage_table(found),
                   launch_graphs_table(found, options.top),
                   short_kernels_table(found, options.top),
                   launch_outliers_table(found, call_cutoff, options.top)};
  if (options.flag("each")) result.tables.push_back(launch_each_table(found));
  sum_up(found, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis launch{"launch",
                             "how long launching takes, and how long work waits after its launch",
                             Needs::kLaunches | Needs::kOps,
                             analyze,
                             kOptions,
                             nullptr};

}  // namespace analysis
}  // namespace headroom::trace
