// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/launch_tables.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/device_work.h"

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

}  // namespace

DataTable launch_spread_table(const Launches& launches) {
  DataTable table{"launches",
                  "launches by what they start",
                  {{"kind", "starts", Kind::kText},
                   {"quantity", "time", Kind::kText},
                   {"count", "launches", Kind::kCount},
                   {"median_ns", "median", Kind::kTimeNs},
                   {"p95_ns", "p95", Kind::kTimeNs},
                   {"p99_ns", "p99", Kind::kTimeNs},
                   {"max_ns", "max", Kind::kTimeNs},
                   {"total_ns", "total", Kind::kTimeNs}},
                  {}};
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
  DataTable table{"functions",
                  fmt::format("the calls that launch; an outlier takes longer than {}, delayed work starts "
                              "more than {} after its call",
                              format_time_ns(static_cast<double>(call_cutoff)),
                              format_time_ns(static_cast<double>(delay_cutoff))),
                  {{"function", "function", Kind::kText},
                   {"calls", "calls", Kind::kCount},
                   {"works", "GPU work", Kind::kCount},
                   {"median_ns", "median", Kind::kTimeNs},
                   {"p99_ns", "p99", Kind::kTimeNs},
                   {"max_ns", "max", Kind::kTimeNs},
                   {"total_ns", "total", Kind::kTimeNs},
                   {"outliers", "outliers", Kind::kCount},
                   {"delayed", "delayed", Kind::kCount}},
                  {}};
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
                  "graph launches: one call, many pieces of work",
                  {{"function", "function", Kind::kText},
                   {"start_ns", "call", Kind::kInstantNs},
                   {"call_ns", "call time", Kind::kTimeNs},
                   {"delay_ns", "delay", Kind::kTimeNs},
                   {"works", "GPU work", Kind::kCount},
                   {"span_ns", "span", Kind::kTimeNs},
                   {"gpu_ns", "GPU time", Kind::kTimeNs}},
                  {}};
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
  DataTable table{"short_kernels",
                  "kernels that are shorter than the call that launches them",
                  {{"kernel", "kernel", Kind::kText},
                   {"launches", "launches", Kind::kCount},
                   {"short", "of which short", Kind::kCount},
                   {"gpu_ns", "GPU time", Kind::kTimeNs},
                   {"call_ns", "call time", Kind::kTimeNs}},
                  {}};
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
                  "calls that took longest",
                  {{"function", "function", Kind::kText},
                   {"start_ns", "start", Kind::kInstantNs},
                   {"call_ns", "call time", Kind::kTimeNs},
                   {"op", "op", Kind::kText},
                   {"starts", "starts", Kind::kText}},
                  {}};
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
                  "each piece of GPU work that has a launch",
                  {{"kind", "kind", Kind::kText},
                   {"function", "function", Kind::kText},
                   {"correlation", "correlation", Kind::kCount},
                   {"device", "device", Kind::kText},
                   {"stream", "stream", Kind::kCount},
                   {"call_start_ns", "call", Kind::kInstantNs},
                   {"call_ns", "call time", Kind::kTimeNs},
                   {"gpu_start_ns", "start", Kind::kInstantNs},
                   {"gpu_ns", "GPU time", Kind::kTimeNs},
                   {"delay_ns", "delay", Kind::kTimeNs},
                   {"signed_delay_ns", "signed delay", Kind::kTimeNs},
                   {"name", "name", Kind::kText}},
                  {}};
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
                  "GPU work with a launch in the file and without",
                  {{"kind", "work", Kind::kText},
                   {"works", "all", Kind::kCount},
                   {"launched", "with a launch", Kind::kCount},
                   {"without_launch", "without", Kind::kCount}},
                  {}};
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

}  // namespace headroom::trace
