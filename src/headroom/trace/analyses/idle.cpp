// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/culprit_table.h"
#include "headroom/trace/work/device_work.h"
#include "headroom/trace/work/gpu_work.h"
#include "headroom/trace/work/idle_gaps.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kCauses = 3;
// What HTA's default of 30 comes to: its help calls it nanoseconds, its times are microseconds.
constexpr std::int64_t kDefaultThresholdNs = 30'000;

constexpr AnalysisOption kOptions[] = {
    {"threshold", "TIME", "30us",
     "a gap below it, launched in time, is kernel wait; from it on it is other"}};

struct CauseSum {
  std::size_t gaps = 0;
  std::int64_t time_ns = 0;
};

/// A stream or a device: its extent and its gaps.
struct IdleWork {
  const GpuWork* work = nullptr;
  std::int64_t span_ns = 0, idle_ns = 0;
  std::vector<IdleGap> gaps;
  std::array<CauseSum, kCauses> causes{};
};

IdleWork idle_work(const Trace& trace, const GpuWork& work, const std::vector<std::uint32_t>& launch,
                   std::int64_t threshold_ns) {
  IdleWork idle;
  idle.work = &work;
  idle.gaps = idle_gaps(trace, work.rows, launch, threshold_ns);
  const Events& events = trace.events;
  std::int64_t end = events.end_ns(trace.gpu[work.rows.front()].event);
  for (const std::uint32_t row : work.rows) end = std::max(end, events.end_ns(trace.gpu[row].event));
  idle.span_ns = end - events.start_ns[trace.gpu[work.rows.front()].event];
  for (const IdleGap& gap : idle.gaps) {
    CauseSum& cause = idle.causes[static_cast<std::size_t>(gap.cause)];
    ++cause.gaps;
    cause.time_ns = saturating_add(cause.time_ns, gap.length_ns());
    idle.idle_ns = saturating_add(idle.idle_ns, gap.length_ns());
  }
  return idle;
}

std::vector<IdleWork> idle_works(const Trace& trace, const std::vector<GpuWork>& works,
                                 const std::vector<std::uint32_t>& launch, std::int64_t threshold_ns) {
  std::vector<IdleWork> idle;
  for (const GpuWork& work : works) idle.push_back(idle_work(trace, work, launch, threshold_ns));
  return idle;
}

DataTable work_table(const std::vector<IdleWork>& works, bool by_stream) {
  DataTable table;
  table.key = by_stream ? "streams" : "devices";
  table.title = by_stream ? "idle time of each stream, between its first and last work"
                          : "idle time of each device, when none of its streams works";
  table.columns = {{"device", "device", Kind::kText}};
  if (by_stream) table.columns.push_back({"stream", "stream", Kind::kCount});
  for (const Column& column : std::vector<Column>{{"work", "work", Kind::kCount},
                                                  {"span_ns", "span", Kind::kTimeNs},
                                                  {"busy_ns", "busy", Kind::kTimeNs},
                                                  {"idle_ns", "idle", Kind::kTimeNs},
                                                  {"idle_share", "idle share", Kind::kShare},
                                                  {"host_wait_gaps", "host waits", Kind::kCount},
                                                  {"host_wait_ns", "host wait", Kind::kTimeNs},
                                                  {"kernel_wait_gaps", "kernel waits", Kind::kCount},
                                                  {"kernel_wait_ns", "kernel wait", Kind::kTimeNs},
                                                  {"other_gaps", "others", Kind::kCount},
                                                  {"other_ns", "other", Kind::kTimeNs}})
    table.columns.push_back(column);
  for (const IdleWork& idle : works) {
    std::vector<Cell> row{device_text(idle.work->device)};
    if (by_stream) row.push_back(number_cell(idle.work->stream));
    row.insert(row.end(), {count_cell(idle.work->rows.size()), idle.span_ns, idle.span_ns - idle.idle_ns,
                           idle.idle_ns, share_cell(idle.idle_ns, idle.span_ns)});
    for (const CauseSum& cause : idle.causes) {
      row.push_back(count_cell(cause.gaps));
      row.push_back(cause.time_ns);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_causes(DataTable& table, const char* scope, const std::vector<IdleWork>& works) {
  std::array<std::vector<std::int64_t>, kCauses> lengths;
  std::int64_t idle_ns = 0;
  for (const IdleWork& idle : works) {
    idle_ns = saturating_add(idle_ns, idle.idle_ns);
    for (const IdleGap& gap : idle.gaps)
      lengths[static_cast<std::size_t>(gap.cause)].push_back(gap.length_ns());
  }
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    const TimeSpread spread = time_spread(lengths[cause]);
    std::vector<Cell> row{std::string(scope), std::string(to_string(static_cast<IdleCause>(cause))),
                          count_cell(spread.count), spread.total_ns, share_cell(spread.total_ns, idle_ns)};
    if (spread.count > 0) row.insert(row.end(), {spread.median_ns, spread.p95_ns, spread.max_ns});
    row.resize(8);
    table.rows.push_back(std::move(row));
  }
}

DataTable causes_table(const std::vector<IdleWork>& devices, const std::vector<IdleWork>& streams,
                       std::int64_t threshold_ns) {
  DataTable table{"causes",
                  fmt::format("causes of idle time; a kernel wait is shorter than {}",
                              format_time_ns(static_cast<double>(threshold_ns))),
                  {{"scope", "gaps of", Kind::kText},
                   {"cause", "cause", Kind::kText},
                   {"gaps", "gaps", Kind::kCount},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share", "share of idle", Kind::kShare},
                   {"median_ns", "median", Kind::kTimeNs},
                   {"p95_ns", "p95", Kind::kTimeNs},
                   {"max_ns", "longest", Kind::kTimeNs}},
                  {}};
  add_causes(table, "devices", devices);
  add_causes(table, "streams", streams);
  return table;
}

struct PlacedGap {
  const GpuWork* work;
  IdleGap gap;
};

std::vector<PlacedGap> longest_gaps(const std::vector<IdleWork>& works, std::size_t top) {
  std::vector<PlacedGap> all;
  for (const IdleWork& idle : works) {
    for (const IdleGap& gap : idle.gaps) all.push_back({idle.work, gap});
  }
  const std::size_t kept = top == 0 ? all.size() : std::min(top, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept),
                            [](const PlacedGap& a, const PlacedGap& b) {
                              if (a.gap.length_ns() != b.gap.length_ns())
                                return a.gap.length_ns() > b.gap.length_ns();
                              return a.gap.start_ns < b.gap.start_ns;
                            });
  all.resize(kept);
  return all;
}

DataTable gaps_table(const Trace& trace, const std::vector<IdleWork>& works, bool by_stream,
                     const std::vector<std::uint32_t>& launch, const std::vector<std::uint32_t>& op,
                     std::size_t top) {
  DataTable table{by_stream ? "stream_gaps" : "device_gaps",
                  by_stream ? "longest gaps of a stream" : "longest gaps of a device",
                  {{"device", "device", Kind::kText},
                   {"stream", "stream", Kind::kCount},
                   {"start_ns", "start", Kind::kInstantNs},
                   {"idle_ns", "idle", Kind::kTimeNs},
                   {"cause", "cause", Kind::kText},
                   {"launched_after_ns", "launched after", Kind::kTimeNs},
                   {"op", "ended by op", Kind::kText},
                   {"next", "ended by", Kind::kText},
                   {"before", "after", Kind::kText}},
                  {}};
  for (const auto& [work, gap] : longest_gaps(works, top)) {
    const std::uint32_t call = launch[gap.next];
    table.rows.push_back({device_text(work->device), number_cell(trace.gpu[gap.next].stream), gap.start_ns,
                          gap.length_ns(), std::string(to_string(gap.cause)),
                          call == kNone ? Cell{} : Cell{trace.events.start_ns[call] - gap.start_ns},
                          event_cell(trace, op[gap.next]), event_cell(trace, trace.gpu[gap.next].event),
                          event_cell(trace, trace.gpu[gap.before].event)});
  }
  return table;
}

/// Which operators end the gaps of the devices: where a program waits, summed over its iterations.
DataTable ops_table(const Trace& trace, const std::vector<IdleWork>& devices,
                    const std::vector<std::uint32_t>& op, std::size_t top) {
  struct Sum {
    std::size_t gaps = 0;
    std::int64_t idle_ns = 0, host_wait_ns = 0;
  };
  std::map<NameId, Sum> by_op;
  std::int64_t idle_ns = 0;
  for (const IdleWork& idle : devices) {
    idle_ns = saturating_add(idle_ns, idle.idle_ns);
    for (const IdleGap& gap : idle.gaps) {
      const std::uint32_t event = op[gap.next];
      Sum& sum = by_op[event == kNone ? kNoName : trace.events.name[event]];
      ++sum.gaps;
      sum.idle_ns = saturating_add(sum.idle_ns, gap.length_ns());
      if (gap.cause == IdleCause::kHostWait)
        sum.host_wait_ns = saturating_add(sum.host_wait_ns, gap.length_ns());
    }
  }
  std::vector<std::pair<NameId, Sum>> sorted(by_op.begin(), by_op.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.idle_ns; });
  DataTable table{"ops",
                  "idle time of the devices by the op that ended it",
                  {{"op", "op", Kind::kText},
                   {"gaps", "gaps", Kind::kCount},
                   {"idle_ns", "idle", Kind::kTimeNs},
                   {"share", "share of idle", Kind::kShare},
                   {"host_wait_ns", "of which host wait", Kind::kTimeNs}},
                  {}};
  for (const auto& [name, sum] : sorted)
    table.rows.push_back({name_cell(trace, name), count_cell(sum.gaps), sum.idle_ns,
                          share_cell(sum.idle_ns, idle_ns), sum.host_wait_ns});
  keep_top(table, top);
  return table;
}

void add_headlines(AnalysisResult& result, const std::string& device, std::int64_t span_ns,
                   const std::array<std::int64_t, kCauses>& causes) {
  if (span_ns <= 0) return;
  const auto share = [&](std::int64_t time) {
    return static_cast<double>(time) / static_cast<double>(span_ns);
  };
  constexpr const char* kMetrics[] = {"host_wait_share", "kernel_wait_share", "other_wait_share"};
  std::int64_t idle_ns = 0;
  for (const std::int64_t time : causes) idle_ns = saturating_add(idle_ns, time);
  result.headlines.push_back({"idle_share", Kind::kShare, true, share(idle_ns), device});
  for (std::size_t cause = 0; cause < kCauses; ++cause)
    result.headlines.push_back({kMetrics[cause], Kind::kShare, true, share(causes[cause]), device});
}

void sum_up(const Trace& trace, const std::vector<IdleWork>& devices,
            const std::vector<std::uint32_t>& launch, AnalysisResult& result) {
  std::array<std::int64_t, kCauses> all{};
  std::int64_t span_ns = 0;
  for (const IdleWork& idle : devices) {
    std::array<std::int64_t, kCauses> causes{};
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      causes[cause] = idle.causes[cause].time_ns;
      all[cause] = saturating_add(all[cause], causes[cause]);
    }
    span_ns = saturating_add(span_ns, idle.span_ns);
    if (devices.size() > 1) add_headlines(result, device_text(idle.work->device), idle.span_ns, causes);
  }
  add_headlines(result, "", span_ns, all);
  const auto unknown = std::ranges::count(launch, kNone);
  if (unknown > 0)
    result.notes.push_back(fmt::format(
        "the launches of {} of {} pieces of GPU work are not in the file: a gap before one of them is never "
        "called a host wait",
        unknown, trace.gpu.size()));
}

/// Of all devices: the headline that sum_up gave.
double idle_share_of(const AnalysisResult& result) {
  for (const Headline& headline : result.headlines) {
    if (headline.metric == "idle_share" && headline.device.empty()) return headline.value;
  }
  return 0;
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    return result;
  }
  const auto threshold_ns = options.whole_time_ns("threshold", kDefaultThresholdNs);
  const std::vector<std::uint32_t> launch = launches(trace);
  const std::vector<std::uint32_t> op = launching_ops(trace);
  const std::vector<GpuWork> on_devices = work_by_device(trace), on_streams = work_by_stream(trace);
  const std::vector<IdleWork> devices = idle_works(trace, on_devices, launch, threshold_ns);
  const std::vector<IdleWork> streams = idle_works(trace, on_streams, launch, threshold_ns);
  result.tables = {culprit_table(trace, launch, options.top),
                   work_table(devices, false),
                   work_table(streams, true),
                   causes_table(devices, streams, threshold_ns),
                   ops_table(trace, devices, op, options.top),
                   gaps_table(trace, devices, false, launch, op, options.top),
                   gaps_table(trace, streams, true, launch, op, options.top)};
  sum_up(trace, devices, launch, result);
  if (const DataTable& culprits = result.tables.front(); !culprits.rows.empty()) {
    result.answer.push_back(fmt::format(
        "the devices have nothing to do for {} of the time, {} of that while the host is at: {}",
        format_percent(idle_share_of(result)), format_percent(std::get<double>(culprits.rows.front()[3])),
        std::get<std::string>(culprits.rows.front()[1])));
    result.answer.emplace_back("what that costs a step, and what to do: `headroom trace findings`");
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis idle{"idle",
                           "times in which streams and devices do nothing, and why",
                           Needs::kLaunches | Needs::kOps | Needs::kPython,
                           analyze,
                           kOptions,
                           nullptr};

}  // namespace analysis
}  // namespace headroom::trace
