// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/peers/hta_idle.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

struct Branch {
  std::int64_t idle_ns = 0, longest_ns = 0;
  std::size_t parts = 0;
  std::map<std::string, Branch> below;
  void add(const IdlePart& part) {
    idle_ns = saturating_add(idle_ns, part.length_ns());
    longest_ns = std::max(longest_ns, part.length_ns());
    ++parts;
  }
};

void add_time_columns(DataTable& table) {
  add_columns(table, {Column::time("idle_ns").main(), Column::share("share", "share of idle").main(),
                      Column::count("parts", "times"), Column::time("longest_ns")});
}

void add_branches(const Branch& branch, std::int64_t depth, std::int64_t idle_ns, std::size_t top,
                  DataTable& table) {
  std::vector<std::pair<const std::string*, const Branch*>> sorted;
  for (const auto& [name, below] : branch.below) sorted.emplace_back(&name, &below);
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second->idle_ns; });
  for (std::size_t i = 0; i < sorted.size() && (depth == 0 || top == 0 || i < top); ++i) {
    const auto& [name, below] = sorted[i];
    table.rows.push_back({depth, std::string(static_cast<std::size_t>(2 * depth), ' ') + *name,
                          below->idle_ns, share_cell(below->idle_ns, idle_ns), count_cell(below->parts),
                          below->longest_ns});
    add_branches(*below, depth + 1, idle_ns, top, table);
  }
}

/// kNone if no host event is known.
std::uint32_t place_of(const Trace& trace, const HostOrder& host, const IdlePart& part) {
  if (part.event == kNone) return kNone;
  const std::uint32_t site = site_of(trace, host.parent, part.event);
  return site == kNone ? part.event : site;
}

using Parts = std::span<const IdlePart>;

std::vector<Parts> by_device(const IdleCulprits& culprits) {
  std::vector<Parts> devices;
  const auto device_at = [&](std::size_t i) { return culprits.gaps[culprits.parts[i].gap].device; };
  for (std::size_t from = 0; from < culprits.parts.size();) {
    std::size_t to = from;
    while (to < culprits.parts.size() && device_at(to) == device_at(from)) ++to;
    devices.push_back(Parts(culprits.parts).subspan(from, to - from));
    from = to;
  }
  return devices;
}

struct StepCulprit {
  HostActivity doing = HostActivity::kNotRecorded;
  NameId place = kNoName;
  std::int64_t idle_ns = 0, longest_ns = 0, parts = 0;
};

std::vector<StepCulprit> culprits_of(const Trace& trace, const HostOrder& host,
                                     std::span<const Parts> devices, const Step& step) {
  std::map<std::pair<HostActivity, NameId>, StepCulprit> found;
  for (const Parts parts : devices) {
    auto part =
        std::ranges::upper_bound(parts, step.start_ns, {}, [](const IdlePart& one) { return one.time.end; });
    for (; part != parts.end() && part->time.start < step.end_ns; ++part) {
      const std::uint32_t place = place_of(trace, host, *part);
      const NameId name = place == kNone ? kNoName : trace.events.name[place];
      StepCulprit& culprit = found[{part->doing, name}];
      culprit.doing = part->doing;
      culprit.place = name;
      const std::int64_t inside =
          std::min(part->time.end, step.end_ns) - std::max(part->time.start, step.start_ns);
      culprit.idle_ns = saturating_add(culprit.idle_ns, inside);
      culprit.longest_ns = std::max(culprit.longest_ns, inside);
      ++culprit.parts;
    }
  }
  std::vector<StepCulprit> sorted;
  for (const auto& [key, culprit] : found) sorted.push_back(culprit);
  std::ranges::stable_sort(sorted, std::greater{}, &StepCulprit::idle_ns);
  return sorted;
}

constexpr AnalysisOption kIdleOptions[] = {
    {"threshold", "TIME", "30us",
     "classify a shorter gap before work launched in time as kernel wait, a longer one as other"}};

struct CausedGap : IdleGap {
  HtaIdleCause cause = HtaIdleCause::kOther;
};

struct CauseSum {
  std::size_t gaps = 0;
  std::int64_t time_ns = 0;
};

struct IdleWork {
  const GpuWork* work = nullptr;
  std::int64_t span_ns = 0, idle_ns = 0;
  std::vector<CausedGap> gaps;
  std::array<CauseSum, kHtaIdleCauses> causes{};
};

IdleWork idle_work(const Trace& trace, const GpuWork& work, const std::vector<std::uint32_t>& launch,
                   std::int64_t threshold_ns) {
  IdleWork idle;
  idle.work = &work;
  for (const IdleGap& gap : idle_gaps(trace, work.rows))
    idle.gaps.push_back({gap, hta_idle_cause(trace, gap, launch, threshold_ns)});
  const Events& events = trace.events;
  std::int64_t end = events.end_ns(trace.gpu[work.rows.front()].event);
  for (const std::uint32_t row : work.rows) end = std::max(end, events.end_ns(trace.gpu[row].event));
  idle.span_ns = end - events.start_ns[trace.gpu[work.rows.front()].event];
  for (const CausedGap& gap : idle.gaps) {
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
                          : "idle time of each device (no stream working)";
  table.columns = {Column::text("device")};
  if (by_stream) table.columns.push_back(Column::count("stream").identifying());
  add_columns(table,
              {Column::count("work").detail(), Column::time("span_ns"), Column::time("busy_ns").main(),
               Column::time("idle_ns").main(), Column::share("idle_share").main(),
               Column::count("host_wait_gaps", "host waits").detail(), Column::time("host_wait_ns").main(),
               Column::count("kernel_wait_gaps", "kernel waits").detail(), Column::time("kernel_wait_ns"),
               Column::count("other_gaps", "others").detail(), Column::time("other_ns")});
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
  std::array<std::vector<std::int64_t>, kHtaIdleCauses> lengths;
  std::int64_t idle_ns = 0;
  for (const IdleWork& idle : works) {
    idle_ns = saturating_add(idle_ns, idle.idle_ns);
    for (const CausedGap& gap : idle.gaps)
      lengths[static_cast<std::size_t>(gap.cause)].push_back(gap.length_ns());
  }
  for (std::size_t cause = 0; cause < kHtaIdleCauses; ++cause) {
    const TimeSpread spread = time_spread(lengths[cause]);
    std::vector<Cell> row{std::string(scope), std::string(to_string(static_cast<HtaIdleCause>(cause))),
                          count_cell(spread.count), spread.total_ns, share_cell(spread.total_ns, idle_ns)};
    if (spread.count > 0) row.insert(row.end(), {spread.median_ns, spread.p95_ns, spread.max_ns});
    row.resize(8);
    table.rows.push_back(std::move(row));
  }
}

DataTable causes_table(const std::vector<IdleWork>& devices, const std::vector<IdleWork>& streams,
                       std::int64_t threshold_ns) {
  DataTable table{
      "causes",
      fmt::format("HTA's causes of idle time; a kernel wait is shorter than {}",
                  format_time_ns(static_cast<double>(threshold_ns))),
      {Column::text("scope", "gaps of"), Column::text("cause").identifying(), Column::count("gaps"),
       Column::time("time_ns"), Column::share("share", "share of idle").main(), Column::time("median_ns"),
       Column::time("p95_ns"), Column::time("max_ns", "longest")}};
  add_causes(table, "devices", devices);
  add_causes(table, "streams", streams);
  return table;
}

struct PlacedGap {
  const GpuWork* work;
  CausedGap gap;
};

std::vector<PlacedGap> longest_gaps(const std::vector<IdleWork>& works, std::size_t top) {
  std::vector<PlacedGap> all;
  for (const IdleWork& idle : works) {
    for (const CausedGap& gap : idle.gaps) all.push_back({idle.work, gap});
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
                  {Column::text("device"), Column::count("stream").identifying(), Column::instant("start_ns"),
                   Column::time("idle_ns").main(), Column::text("cause").identifying(),
                   Column::time("launched_after_ns"), Column::text("op", "ended by op").main(),
                   Column::text("next", "ended by"), Column::text("before", "after")}};
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
    for (const CausedGap& gap : idle.gaps) {
      const std::uint32_t event = op[gap.next];
      Sum& sum = by_op[event == kNone ? kNoName : trace.events.name[event]];
      ++sum.gaps;
      sum.idle_ns = saturating_add(sum.idle_ns, gap.length_ns());
      if (gap.cause == HtaIdleCause::kHostWait)
        sum.host_wait_ns = saturating_add(sum.host_wait_ns, gap.length_ns());
    }
  }
  std::vector<std::pair<NameId, Sum>> sorted(by_op.begin(), by_op.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.idle_ns; });
  DataTable table{"ops",
                  "idle time of the devices by the op that ended it",
                  {Column::text("op").main(), Column::count("gaps"), Column::time("idle_ns").main(),
                   Column::share("share", "share of idle").main(),
                   Column::time("host_wait_ns", "of which host wait").main()}};
  for (const auto& [name, sum] : sorted)
    table.rows.push_back({name_cell(trace, name), count_cell(sum.gaps), sum.idle_ns,
                          share_cell(sum.idle_ns, idle_ns), sum.host_wait_ns});
  keep_top(table, top);
  return table;
}

void add_headlines(AnalysisResult& result, const std::string& device, std::int64_t span_ns,
                   const std::array<std::int64_t, kHtaIdleCauses>& causes) {
  if (span_ns <= 0) return;
  const auto share = [&](std::int64_t time) {
    return static_cast<double>(time) / static_cast<double>(span_ns);
  };
  constexpr const char* kMetrics[] = {"host_wait_share", "kernel_wait_share", "other_wait_share"};
  std::int64_t idle_ns = 0;
  for (const std::int64_t time : causes) idle_ns = saturating_add(idle_ns, time);
  result.headlines.push_back({"idle_share", Kind::kShare, true, share(idle_ns), device});
  for (std::size_t cause = 0; cause < kHtaIdleCauses; ++cause)
    result.headlines.push_back({kMetrics[cause], Kind::kShare, true, share(causes[cause]), device});
}

void sum_up(const Trace& trace, const std::vector<IdleWork>& devices,
            const std::vector<std::uint32_t>& launch, AnalysisResult& result) {
  std::array<std::int64_t, kHtaIdleCauses> all{};
  std::int64_t span_ns = 0;
  for (const IdleWork& idle : devices) {
    std::array<std::int64_t, kHtaIdleCauses> causes{};
    for (std::size_t cause = 0; cause < kHtaIdleCauses; ++cause) {
      causes[cause] = idle.causes[cause].time_ns;
      all[cause] = saturating_add(all[cause], causes[cause]);
    }
    span_ns = saturating_add(span_ns, idle.span_ns);
    if (devices.size() > 1) add_headlines(result, device_text(idle.work->device), idle.span_ns, causes);
  }
  add_headlines(result, "", span_ns, all);
  const auto unknown = std::ranges::count(launch, kNone);
  if (unknown > 0)
    result.notes.push_back(
        fmt::format("{} of {} GPU events have no recorded launch: a gap before one never counts as host wait",
                    unknown, trace.gpu.size()));
}

double idle_share_of(const AnalysisResult& result) {
  for (const Headline& headline : result.headlines) {
    if (headline.metric == "idle_share" && headline.device.empty()) return headline.value;
  }
  return 0;
}

/// `top` places per step and three (0: all), and a row for the rest: rows sum to the step's idle time.
DataTable step_culprit_table(const TraceIndex& index, std::span<const Step> steps, std::size_t top) {
  const Trace& trace = index.trace();
  constexpr std::size_t kMostOfAStep = 3;
  DataTable table{"step_culprits",
                  "CPU activity while the GPU was idle, by step",
                  {Column::text("step"), Column::text("doing", "host"), Column::text("what").identifying()}};
  add_time_columns(table);
  const HostOrder& host = index.host();
  const IdleCulprits culprits = idle_culprits(trace, index.work(), index.launches(), host);
  const std::vector<Parts> devices = by_device(culprits);
  for (const Step& step : steps) {
    std::vector<StepCulprit> found = culprits_of(trace, host, devices, step);
    std::int64_t idle = 0;
    for (const StepCulprit& one : found) idle = saturating_add(idle, one.idle_ns);
    const std::size_t shown = top == 0 ? found.size() : std::min({found.size(), top, kMostOfAStep});
    StepCulprit rest;
    for (std::size_t i = shown; i < found.size(); ++i) {
      rest.idle_ns = saturating_add(rest.idle_ns, found[i].idle_ns);
      rest.longest_ns = std::max(rest.longest_ns, found[i].longest_ns);
      rest.parts += found[i].parts;
    }
    const auto add = [&](const StepCulprit& one, const char* doing) {
      table.rows.push_back({step_text(step), std::string(doing), name_cell(trace, one.place), one.idle_ns,
                            share_cell(one.idle_ns, idle), one.parts, one.longest_ns});
    };
    for (std::size_t i = 0; i < shown; ++i) add(found[i], to_string(found[i].doing));
    if (rest.parts > 0) add(rest, "others");
  }
  return table;
}

/// Depth 0: host activity, 1: outermost operator or function, 2: innermost event. At most `top` branches per
/// node and five; 0: all.
DataTable culprit_table(const TraceIndex& index, std::size_t top) {
  const Trace& trace = index.trace();
  DataTable table{"culprits",
                  "CPU activity while the GPU was idle",
                  {Column::count("depth"), Column::text("what").identifying()}};
  add_time_columns(table);
  const HostOrder& host = index.host();
  Branch root;
  for (const IdlePart& part : idle_culprits(trace, index.work(), index.launches(), host).parts) {
    root.add(part);
    Branch& doing = root.below[to_string(part.doing)];
    doing.add(part);
    if (part.event == kNone) continue;
    const std::uint32_t shown = place_of(trace, host, part);
    Branch& place = doing.below[std::string(trace.event_name(shown))];
    place.add(part);
    if (part.event != shown) place.below[std::string(trace.event_name(part.event))].add(part);
  }
  constexpr std::size_t kMostOfABranch = 5;
  add_branches(root, 0, root.idle_ns, top == 0 ? 0 : std::min(top, kMostOfABranch), table);
  return table;
}

AnalysisResult analyze_idle(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const auto threshold_ns = options.rounded_time_ns("threshold", kHtaThresholdNs);
  const std::vector<std::uint32_t>& launch = index.launches();
  const std::vector<std::uint32_t>& op = index.ops();
  const std::vector<GpuWork> on_devices = work_by_device(index.work()), on_streams = work_by_stream(trace);
  const std::vector<IdleWork> devices = idle_works(trace, on_devices, launch, threshold_ns);
  const std::vector<IdleWork> streams = idle_works(trace, on_streams, launch, threshold_ns);
  result.tables = {culprit_table(index, options.top),
                   work_table(devices, false),
                   work_table(streams, true),
                   causes_table(devices, streams, threshold_ns),
                   ops_table(trace, devices, op, options.top),
                   gaps_table(trace, devices, false, launch, op, options.top),
                   gaps_table(trace, streams, true, launch, op, options.top)};
  sum_up(trace, devices, launch, result);
  if (const DataTable& culprits = result.tables.front(); !culprits.rows.empty()) {
    result.answer.push_back(fmt::format("GPU idle {0} of the time; top cause: {2} ({1} of the idle time)",
                                        format_percent(idle_share_of(result)),
                                        format_percent(std::get<double>(culprits.rows.front()[3])),
                                        std::get<std::string>(culprits.rows.front()[1])));
    result.answer.emplace_back("cost per step and fix: `headroom trace findings`");
  }
  return result;
}

/// The first that runs on any device or thread counts, as in PyTorch's TensorBoard plugin.
enum Part : std::size_t { kKernel, kMemcpy, kMemset, kCommunication, kRuntime, kDataLoader, kCpu, kParts };
constexpr std::array<const char*, kParts> kPartKeys{
    "kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns", "data_loader_ns", "cpu_ns"};
constexpr std::array<const char*, kParts> kPartTitles{"kernel",  "memcpy",     "memset", "communication",
                                                      "runtime", "DataLoader", "CPU"};

std::array<Spans, kParts> exclusive_parts(const TraceIndex& index) {
  const Trace& trace = index.trace();
  std::array<std::vector<Span>, kParts> raw;
  const std::vector<KernelType>& types = index.types();
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

std::vector<Step> steps_or_all(const TraceIndex& index, std::vector<std::string>& notes) {
  const StepSet& set = index.steps();
  if (std::string text = step_note(set); !text.empty()) notes.push_back(std::move(text));
  if (!set.steps.empty()) return set.steps;
  notes.emplace_back(index.trace().gpu.empty() ? "no steps in the file: the whole trace is shown as one step"
                                               : "no steps in the file: the GPU time is shown as one step");
  return {{-1, "all", index.window().start, index.window().end}};
}

DataTable step_table(const std::vector<Step>& steps, const std::array<Spans, kParts>& parts,
                     const std::optional<Spans>& busy) {
  DataTable table{"steps",
                  "steps",
                  {Column::text("step"), Column::instant("start_ns").detail(), Column::time("wall_ns").main(),
                   Column::time("busy_ns").main(), Column::share("utilization").main()}};
  for (std::size_t part = 0; part < kParts; ++part)
    table.columns.push_back({kPartKeys[part], kPartTitles[part], Kind::kTimeNs});
  table.columns.push_back(Column::time("other_ns"));
  for (const Step& step : steps) {
    const Span window{step.start_ns, step.end_ns};
    const std::int64_t wall = step.end_ns - step.start_ns;
    std::vector<Cell>& row =
        table.rows.emplace_back(std::vector<Cell>{step_text(step), step.start_ns, wall, Cell{}, Cell{}});
    if (busy) {
      const std::int64_t busy_ns = length_within(*busy, window);
      row[3] = busy_ns;
      row[4] = share_cell(busy_ns, wall);
    }
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

DataTable device_step_table(const std::vector<Step>& steps, std::span<const DeviceTimes> devices) {
  DataTable table{"step_devices",
                  "steps by device",
                  {Column::text("step"), Column::text("device"), Column::time("wall_ns").main(),
                   Column::time("busy_ns").main(), Column::share("utilization").main()}};
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

AnalysisResult analyze_steps(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  if (trace.events.size() == 0) {
    result.notes.emplace_back("the file holds no events with a duration");
    return result;
  }
  const std::vector<Step> found = steps_or_all(index, result.notes);
  const std::vector<DeviceTimes>& devices = index.devices();
  std::optional<Spans> busy;
  if (std::string text = device_behind_note(index.steps()); !text.empty()) {
    result.notes.push_back(std::move(text));
  } else {
    busy.emplace();
    for (const DeviceTimes& times : devices) busy = unite(*busy, times.busy());
  }
  DataTable table = step_table(found, exclusive_parts(index), busy);
  const StepSet& set = index.steps();
  const bool is_any_whole = set.steps.empty() || std::ranges::find(set.is_whole, true) != set.is_whole.end();
  std::vector<double> walls, utilizations;
  for (const Step& step : set.steps.empty() ? std::span<const Step>(found) : set.measured()) {
    const auto wall = static_cast<double>(step.end_ns - step.start_ns);
    walls.push_back(wall);
    if (wall > 0 && busy && is_any_whole)
      utilizations.push_back(static_cast<double>(length_within(*busy, {step.start_ns, step.end_ns})) / wall);
  }
  result.headlines.push_back({"steps", Kind::kCount, false, static_cast<double>(found.size())});
  result.headlines.push_back({"step_time_ns", Kind::kTimeNs, true, median(walls)});
  if (!utilizations.empty())
    result.headlines.push_back({"step_utilization", Kind::kShare, false, median(utilizations)});
  if (set.steps.empty()) {
    result.answer = {fmt::format("no steps in the file: {} in all", format_time_ns(walls.front()))};
    if (!trace.gpu.empty() && !utilizations.empty())
      result.answer.front() += fmt::format(", GPU busy {} of the time", format_percent(utilizations.front()));
  }
  if (const std::size_t left_out = keep_top(table, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more steps: --top 0 shows all", left_out));
  result.tables.push_back(std::move(table));
  if (devices.size() > 1 && busy) {
    result.tables.push_back(device_step_table(found, devices));
    keep_top(result.tables.back(), options.top == 0 ? 0 : options.top * devices.size());
  }
  if (!trace.gpu.empty()) {
    const std::size_t shown = options.top == 0 ? found.size() : std::min(options.top, found.size());
    result.tables.push_back(step_culprit_table(index, std::span(found).first(shown), options.top));
  }
  return result;
}

AnalysisResult combine_by_rank(std::span<const RankResult> ranks, const AnalysisOptions&) {
  return combine_headlines(ranks);
}

}  // namespace

namespace analysis {

extern const Analysis idle{.name = "idle",
                           .summary = "show when streams and devices are idle, and why",
                           .needs = Needs::kLaunches | Needs::kOps | Needs::kPython,
                           .analyze = analyze_idle,
                           .options = kIdleOptions,
                           .combine = combine_by_rank,
                           .needs_times = true};

extern const Analysis steps{.name = "steps",
                            .summary = "show each step: time, utilization, breakdown, idle causes",
                            .needs = Needs::kLaunches | Needs::kOps | Needs::kPython,
                            .analyze = analyze_steps,
                            .combine = combine_by_rank,
                            .needs_times = true};

}  // namespace analysis

}  // namespace headroom::trace
