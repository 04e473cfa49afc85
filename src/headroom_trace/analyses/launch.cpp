// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/launches.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kKinds = 4;

void add_spread(DataTable& table, LaunchKind kind, const char* quantity,
                const std::vector<std::int64_t>& times) {
  const TimeSpread spread = time_spread(times);
  if (spread.count == 0) return;
  table.rows.push_back({std::string(to_string(kind)), std::string(quantity), count_cell(spread.count),
                        spread.median_ns, spread.p95_ns, spread.p99_ns, spread.max_ns, spread.total_ns});
}

constexpr std::int64_t kDefaultCallCutoffNs = 50'000, kDefaultDelayCutoffNs = 100'000;

constexpr AnalysisOption kLaunchOptions[] = {
    {"call-cutoff", "TIME", "50us", "count longer calls as outliers"},
    {"delay-cutoff", "TIME", "100us", "count work that starts later after its call as delayed"},
    {"each", "", "", "add a table with a row for each GPU event with a launch"}};

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
    result.headlines = {{"launch_delay_median_ns", Kind::kTimeNs, true, delay.median_ns},
                        {"launch_delay_p99_ns", Kind::kTimeNs, true, delay.p99_ns},
                        {"launch_call_median_ns", Kind::kTimeNs, true, call.median_ns},
                        {"launch_call_total_ns", Kind::kTimeNs, true, static_cast<double>(call.total_ns)}};
  }
  if (kernels > 0) {
    const double share = static_cast<double>(short_kernels) / static_cast<double>(kernels);
    result.headlines.push_back({"short_kernel_share", Kind::kShare, true, share});
    if (share > 0.5)
      result.notes.push_back(fmt::format(
          "{} of the kernels are shorter than their launch call, so the CPU cannot keep the GPU busy; {}",
          format_percent(share), advice(Advice::kFuseKernels, launches.trace.writer)));
  }
  if (early > 0)
    result.notes.push_back(
        fmt::format("{} GPU events start before their own launch: CPU and GPU clocks differ in this file, "
                    "and every delay may be wrong by as much",
                    early));
  const auto unknown = std::ranges::count(launches.launch, kNone);
  if (unknown > 0)
    result.notes.push_back(
        fmt::format("{} of {} GPU events have no recorded launch", unknown, launches.trace.gpu.size()));
}

/// For a graph: the delay of its first work, the sum of its work.
DataTable launch_spread_table(const Launches& launches) {
  DataTable table{
      "launches",
      "launches by kind of work",
      {Column::text("kind", "starts"), Column::text("quantity", "time").identifying(),
       Column::count("count", "launches"), Column::time("median_ns").main(), Column::time("p95_ns").detail(),
       Column::time("p99_ns"), Column::time("max_ns"), Column::time("total_ns").main()}};
  for (std::size_t k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<LaunchKind>(k);
    std::vector<std::int64_t> call_times, delays, signed_delays, gpu_times;
    for (const LaunchCall& call : launches.calls) {
      if (call.kind != kind) continue;
      call_times.push_back(launches.call_ns(call));
      delays.push_back(launches.delay_ns(call));
      signed_delays.push_back(launches.signed_delay(call));
      std::int64_t gpu_ns = 0;
      for (const std::uint32_t row : call.rows) gpu_ns = saturating_add(gpu_ns, launches.gpu_ns(row));
      gpu_times.push_back(gpu_ns);
    }
    add_spread(table, kind, "call", call_times);
    add_spread(table, kind, "delay", delays);
    add_spread(table, kind, "signed delay", signed_delays);
    add_spread(table, kind, "GPU work", gpu_times);
  }
  return table;
}

/// The cutoffs are in ns.
DataTable launch_functions_table(const Launches& launches, std::int64_t call_cutoff,
                                 std::int64_t delay_cutoff) {
  struct Sum {
    std::vector<std::int64_t> times;
    std::size_t works = 0, outliers = 0, delayed = 0;
  };
  std::map<NameId, Sum> by_name;
  for (const LaunchCall& call : launches.calls) {
    Sum& sum = by_name[launches.trace.events.name[call.call]];
    sum.times.push_back(launches.call_ns(call));
    sum.works += call.rows.size();
    sum.outliers += launches.call_ns(call) > call_cutoff;
    sum.delayed += launches.delay_ns(call) > delay_cutoff;
  }
  DataTable table{
      "functions",
      fmt::format(
          "launch calls; outliers take longer than {}, delayed work starts more than {} after its call",
          format_time_ns(static_cast<double>(call_cutoff)),
          format_time_ns(static_cast<double>(delay_cutoff))),
      {Column::text("function"), Column::count("calls"), Column::count("works", "GPU work").detail(),
       Column::time("median_ns").main(), Column::time("p99_ns"), Column::time("max_ns"),
       Column::time("total_ns").main(), Column::count("outliers"), Column::count("delayed")}};
  for (const auto& [name, sum] : by_name) {
    const TimeSpread spread = time_spread(sum.times);
    table.rows.push_back({name_cell(launches.trace, name), count_cell(spread.count), count_cell(sum.works),
                          spread.median_ns, spread.p99_ns, spread.max_ns, spread.total_ns,
                          count_cell(sum.outliers), count_cell(sum.delayed)});
  }
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const auto& row) { return std::get<std::int64_t>(row[6]); });
  return table;
}

DataTable launch_graphs_table(const Launches& launches, std::size_t top) {
  DataTable table{"graphs",
                  "graph launches: one call, many GPU events",
                  {Column::text("function"), Column::instant("start_ns", "call"),
                   Column::time("call_ns", "call time").main(), Column::time("delay_ns").main(),
                   Column::count("works", "GPU work").detail(), Column::time("span_ns"),
                   Column::time("gpu_ns", "GPU time").main()}};
  const Events& events = launches.trace.events;
  for (const LaunchCall& call : launches.calls) {
    if (call.kind != LaunchKind::kGraph) continue;
    const std::int64_t start = events.start_ns[launches.trace.gpu[call.rows.front()].event];
    std::int64_t gpu_ns = 0, end = start;
    for (const std::uint32_t row : call.rows) {
      gpu_ns = saturating_add(gpu_ns, launches.gpu_ns(row));
      end = std::max(end, events.end_ns(launches.trace.gpu[row].event));
    }
    table.rows.push_back({event_cell(launches.trace, call.call), events.start_ns[call.call],
                          launches.call_ns(call), launches.delay_ns(call), count_cell(call.rows.size()),
                          end - start, gpu_ns});
  }
  keep_top(table, top);
  return table;
}

DataTable short_kernels_table(const Launches& launches, std::size_t top) {
  struct Sum {
    std::size_t launches = 0, is_short = 0;
    std::int64_t gpu_ns = 0, call_ns = 0;
  };
  std::map<NameId, Sum> by_name;
  for (const LaunchCall& call : launches.calls) {
    if (call.kind != LaunchKind::kKernel) continue;
    Sum& sum = by_name[launches.trace.events.name[launches.trace.gpu[call.rows.front()].event]];
    ++sum.launches;
    sum.is_short += launches.is_short(call);
    sum.gpu_ns = saturating_add(sum.gpu_ns, launches.gpu_ns(call.rows.front()));
    sum.call_ns = saturating_add(sum.call_ns, launches.call_ns(call));
  }
  std::vector<std::pair<NameId, Sum>> sorted(by_name.begin(), by_name.end());
  std::erase_if(sorted, [](const auto& entry) { return entry.second.is_short == 0; });
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.is_short; });
  DataTable table{
      "short_kernels",
      "kernels shorter than their launch call",
      {Column::text("kernel"), Column::count("launches"), Column::count("short", "of which short"),
       Column::time("gpu_ns", "GPU time").main(), Column::time("call_ns", "call time").main()}};
  for (const auto& [name, sum] : sorted)
    table.rows.push_back({name_cell(launches.trace, name), count_cell(sum.launches), count_cell(sum.is_short),
                          sum.gpu_ns, sum.call_ns});
  keep_top(table, top);
  return table;
}

DataTable launch_outliers_table(const Launches& launches, std::int64_t call_cutoff, std::size_t top) {
  std::vector<const LaunchCall*> outliers;
  for (const LaunchCall& call : launches.calls) {
    if (launches.call_ns(call) > call_cutoff) outliers.push_back(&call);
  }
  std::ranges::stable_sort(outliers, std::greater{},
                           [&](const LaunchCall* call) { return launches.call_ns(*call); });
  DataTable table{"outliers",
                  "longest calls",
                  {Column::text("function"), Column::instant("start_ns"),
                   Column::time("call_ns", "call time").main(), Column::text("op"), Column::text("starts")}};
  const Trace& trace = launches.trace;
  for (const LaunchCall* call : outliers)
    table.rows.push_back({event_cell(trace, call->call), trace.events.start_ns[call->call],
                          launches.call_ns(*call), event_cell(trace, launches.op[call->rows.front()]),
                          event_cell(trace, trace.gpu[call->rows.front()].event)});
  keep_top(table, top);
  return table;
}

DataTable launch_each_table(const Launches& launches) {
  DataTable table{"each",
                  "each GPU event with a launch",
                  {Column::text("kind"), Column::text("function"), Column::count("correlation"),
                   Column::text("device"), Column::count("stream"), Column::instant("call_start_ns", "call"),
                   Column::time("call_ns", "call time").main(), Column::instant("gpu_start_ns", "start"),
                   Column::time("gpu_ns", "GPU time").main(), Column::time("delay_ns").main(),
                   Column::time("signed_delay_ns"), Column::text("name")}};
  const Trace& trace = launches.trace;
  for (const LaunchCall& call : launches.calls) {
    for (const std::uint32_t row : call.rows) {
      const std::uint32_t event = trace.gpu[row].event;
      const std::int64_t delay = signed_delay_ns(trace, call.call, row);
      table.rows.push_back({std::string(to_string(call.kind)), event_cell(trace, call.call),
                            trace.events.correlation[event], device_text(device_of(trace, trace.gpu[row])),
                            number_cell(trace.gpu[row].stream), trace.events.start_ns[call.call],
                            launches.call_ns(call), trace.events.start_ns[event], launches.gpu_ns(row),
                            std::max<std::int64_t>(0, delay), delay, event_cell(trace, event)});
    }
  }
  return table;
}

DataTable launch_coverage_table(const Launches& launches) {
  DataTable table{"coverage",
                  "GPU work with and without a recorded launch",
                  {Column::text("kind", "work"), Column::count("works", "all").detail(),
                   Column::count("launched", "with a launch"), Column::count("without_launch", "without")}};
  const Trace& trace = launches.trace;
  constexpr std::array<Category, 3> kCategories{Category::kKernel, Category::kGpuMemcpy,
                                                Category::kGpuMemset};
  for (std::size_t k = 0; k < kCategories.size(); ++k) {
    std::size_t all = 0, launched = 0;
    for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
      if (trace.events.category[trace.gpu[row].event] != kCategories[k]) continue;
      ++all;
      launched += launches.launch[row] != kNone;
    }
    if (all > 0)
      table.rows.push_back({std::string(to_string(static_cast<LaunchKind>(k))), count_cell(all),
                            count_cell(launched), count_cell(all - launched)});
  }
  return table;
}

AnalysisResult analyze_launch(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const auto call_cutoff = options.rounded_time_ns("call-cutoff", kDefaultCallCutoffNs);
  const auto delay_cutoff = options.rounded_time_ns("delay-cutoff", kDefaultDelayCutoffNs);
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

// CUDA's default depth of a stream's launch queue.
constexpr double kDefaultLimit = 1024;

constexpr AnalysisOption kQueueOptions[] = {
    {"limit", "COUNT", "1024", "treat a queue of this length as full: launches block the CPU"},
    {"series", "", "", "add a table with every change of each queue"}};

DataTable streams_table(const std::vector<StreamQueue>& queues, std::int64_t limit) {
  DataTable table{
      "streams",
      fmt::format("work launched and not yet started, by stream; {} or more block the CPU", limit),
      {Column::text("device"), Column::count("stream"), Column::count("works", "work").detail(),
       Column::count("without_launch", "no launch"), Column::time("span_ns", "time"),
       Column::number("mean_length"), Column::count("max_length"), Column::time("empty_ns"),
       Column::share("empty_share").main(), Column::time("blocked_ns")}};
  for (const StreamQueue& queue : queues) {
    const QueueSummary summary = summarize(queue.steps, limit);
    table.rows.push_back({device_text(queue.device), number_cell(queue.stream), count_cell(queue.works),
                          count_cell(queue.without_launch), summary.span_ns,
                          quotient_cell(summary.length_ns, static_cast<double>(summary.span_ns)),
                          summary.max_length, summary.empty_ns, share_cell(summary.empty_ns, summary.span_ns),
                          summary.blocked_ns});
  }
  return table;
}

DataTable series_table(const std::vector<StreamQueue>& queues) {
  DataTable table{"series",
                  "queue length after each change",
                  {Column::text("device"), Column::count("stream"), Column::instant("at_ns", "from"),
                   Column::count("length")}};
  for (const StreamQueue& queue : queues) {
    for (const QueueStep& step : queue.steps)
      table.rows.push_back({device_text(queue.device), number_cell(queue.stream), step.at_ns, step.length});
  }
  return table;
}

void add(QueueSummary& sum, const QueueSummary& one) {
  sum.span_ns = saturating_add(sum.span_ns, one.span_ns);
  sum.max_length = std::max(sum.max_length, one.max_length);
  sum.length_ns += one.length_ns;
  sum.empty_ns = saturating_add(sum.empty_ns, one.empty_ns);
  sum.blocked_ns = saturating_add(sum.blocked_ns, one.blocked_ns);
}

void add_headlines(const QueueSummary& sum, const std::string& device, AnalysisResult& result) {
  if (sum.span_ns <= 0) return;
  const auto span = static_cast<double>(sum.span_ns);
  result.headlines.push_back({"queue_length_mean", Kind::kNumber, false, sum.length_ns / span, device});
  result.headlines.push_back(
      {"queue_length_max", Kind::kCount, false, static_cast<double>(sum.max_length), device});
  result.headlines.push_back(
      {"queue_empty_share", Kind::kShare, true, static_cast<double>(sum.empty_ns) / span, device});
  result.headlines.push_back(
      {"queue_blocked_ns", Kind::kTimeNs, true, static_cast<double>(sum.blocked_ns), device});
}

void sum_up(const std::vector<StreamQueue>& queues, std::int64_t limit, AnalysisResult& result) {
  QueueSummary all;
  std::map<std::int32_t, QueueSummary> devices;
  std::size_t without_launch = 0, works = 0;
  for (const StreamQueue& queue : queues) {
    const QueueSummary summary = summarize(queue.steps, limit);
    add(all, summary);
    add(devices[queue.device], summary);
    without_launch += queue.without_launch;
    works += queue.works + queue.without_launch;
  }
  for (const auto& [device, sum] : devices) {
    if (devices.size() > 1) add_headlines(sum, device_text(device), result);
  }
  add_headlines(all, "", result);
  if (all.blocked_ns > 0)
    result.notes.push_back(
        fmt::format("queues were full for {}: the CPU waited for the GPU, which is the bottleneck there",
                    format_time_ns(static_cast<double>(all.blocked_ns))));
  if (without_launch > 0)
    result.notes.push_back(fmt::format(
        "{} of {} GPU events have no recorded launch and are left out of the queues", without_launch, works));
}

AnalysisResult analyze_queue(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  const double limit = options.number("limit", kDefaultLimit);
  if (!(limit >= 1 && limit <= 1e15))
    throw Error(fmt::format("--limit {}: give a length of 1 or more", options.text("limit")));
  if (trace.gpu.empty()) {
    AnalysisResult nothing;
    nothing.notes.push_back(no_gpu_work(trace));
    return nothing;
  }
  const auto limit_length = static_cast<std::int64_t>(std::ceil(limit));
  const std::vector<StreamQueue> queues = queue_lengths(trace, index.launches());
  AnalysisResult result;
  result.tables.push_back(streams_table(queues, limit_length));
  if (options.flag("series")) result.tables.push_back(series_table(queues));
  sum_up(queues, limit_length, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis launch{.name = "launch",
                             .summary = "show how long launch calls take, and work waits after them",
                             .needs = Needs::kLaunches | Needs::kOps,
                             .analyze = analyze_launch,
                             .options = kLaunchOptions,
                             .needs_times = true};

extern const Analysis queue{.name = "queue",
                            .summary = "show how much work waits on streams, and when launches block",
                            .needs = Needs::kLaunches,
                            .analyze = analyze_queue,
                            .options = kQueueOptions,
                            .needs_times = true};

}  // namespace analysis

}  // namespace headroom::trace
