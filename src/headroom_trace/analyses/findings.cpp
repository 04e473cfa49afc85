// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

DataTable trace_table(const TraceIndex& index) {
  const Trace& trace = index.trace();
  const auto known = [](const std::optional<std::int64_t>& value) { return value ? Cell{*value} : Cell{}; };
  return {"trace",
          "the trace",
          {Column::bytes("json_bytes", "JSON"), Column::count("events"),
           Column::count("gpu_events", "GPU events"), Column::count("devices"), Column::count("steps"),
           Column::count("rank"), Column::count("world_size", "ranks")},
          {{static_cast<std::int64_t>(trace.json_bytes), static_cast<std::int64_t>(trace.events_seen),
            static_cast<std::int64_t>(trace.gpu.size()), count_cell(index.work().devices.size()),
            count_cell(index.steps().steps.size()), known(trace.rank), known(trace.world_size)}}};
}

DataTable top_kernels(const Trace& trace, const std::vector<KernelType>& types, std::size_t top) {
  struct Group {
    std::int64_t count = 0, total = 0;
    KernelType type = KernelType::kCompute;
    NameId name = 0;
  };
  std::vector<Group> groups(trace.names.size());
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    Group& group = groups[trace.events.name[event]];
    ++group.count;
    group.total = saturating_add(group.total, trace.events.duration_ns[event]);
    group.type = types[row];
    sum = saturating_add(sum, trace.events.duration_ns[event]);
  }
  for (NameId name = 0; name < groups.size(); ++name) groups[name].name = name;
  std::erase_if(groups, [](const Group& group) { return group.count == 0; });
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  if (top != 0 && groups.size() > top) groups.resize(top);
  DataTable table{"kernels",
                  "kernels by total time",
                  {Column::text("name"), Column::text("type"), Column::count("count"),
                   Column::time("total_ns").main(), Column::share("share").main(), Column::time("mean_ns")}};
  for (const Group& group : groups) {
    table.rows.push_back({std::string(trace.names[group.name]), to_string(group.type), group.count,
                          group.total, share_cell(group.total, sum),
                          static_cast<double>(group.total) / static_cast<double>(group.count)});
  }
  return table;
}

DataTable communication_table(std::span<const DeviceTimes> devices) {
  DataTable table{"communication",
                  "communication",
                  {Column::text("device"), Column::time("communication_ns"), Column::time("overlapped_ns"),
                   Column::share("overlap")}};
  for (const DeviceTimes& times : devices) {
    const Breakdown sums = breakdown(times);
    if (sums.communication_ns == 0) continue;
    table.rows.push_back({device_text(times.device), sums.communication_ns, sums.overlapped_ns,
                          share_cell(sums.overlapped_ns, sums.communication_ns)});
  }
  return table;
}

std::vector<Headline> headlines(const Breakdown& sum, std::int64_t matmul_ns) {
  if (sum.span_ns <= 0) return {};
  const auto share = [&](std::int64_t part) { return Breakdown::share_of(part, sum.span_ns); };
  std::vector<Headline> found{
      {"utilization", Kind::kShare, false, sum.utilization()},
      {"span_ns", Kind::kTimeNs, true, static_cast<double>(sum.span_ns)},
      {"busy_ns", Kind::kTimeNs, true, static_cast<double>(sum.busy_ns)},
      {"exposed_communication_share", Kind::kShare, true, share(sum.exposed_communication_ns)},
      {"matmul_convolution_share", Kind::kShare, false, share(matmul_ns)}};
  if (sum.communication_ns > 0) {
    found.push_back({"communication_overlap", Kind::kShare, false,
                     Breakdown::share_of(sum.overlapped_ns, sum.communication_ns)});
  }
  return found;
}

/// False for large traces too, whose host events are not read.
bool has_host(const Trace& trace) {
  constexpr CategoryMask kHost =
      mask_of(Category::kRuntime) | mask_of(Category::kDriver) | mask_of(Category::kCpuOp);
  return std::ranges::any_of(trace.events.category,
                             [](Category category) { return (mask_of(category) & kHost) != 0; });
}

void add_summary(const TraceIndex& index, TraceFindings found, AnalysisResult& result) {
  result.summary = std::make_shared<const RankSummary>(rank_summary(index, std::move(found)));
}

AnalysisResult analyze_summary(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  if (std::string missing = missing_data_text(trace); !missing.empty())
    result.notes.push_back(std::move(missing));
  if (has_only_memory(trace)) {
    AnalysisResult memory = find_analysis("memory")->analyze(index, options);
    memory.notes.insert(memory.notes.begin(), result.notes.begin(), result.notes.end());
    return memory;
  }
  const DeviceWork& work = index.work();
  result.tables.push_back(trace_table(index));
  constexpr std::size_t kMostFindings = 5;
  if (trace.gpu.empty()) {
    result.notes.push_back(no_gpu_work(trace));
    add_summary(index, add_findings(index, kMostFindings, result), result);
    return result;
  }
  const std::vector<KernelType>& types = index.types();
  if (!has_times(trace)) {
    result.tables.push_back(top_kernels(trace, types, options.top));
    add_summary(index, add_findings(index, kMostFindings, result), result);
    return result;
  }
  const std::vector<DeviceTimes>& devices = index.devices();
  const std::vector<Spans> matmul = busy_times(trace, work, matmul_or_convolution_by_name(trace));
  std::int64_t matmul_ns = 0;
  for (const Spans& spans : matmul) matmul_ns = saturating_add(matmul_ns, length(spans));
  result.tables.push_back(device_table(trace, devices, matmul));
  result.tables.push_back(top_kernels(trace, types, options.top));
  if (DataTable communication = communication_table(devices); !communication.rows.empty()) {
    result.tables.push_back(std::move(communication));
  } else {
    result.notes.emplace_back("no communication");
  }
  result.headlines = headlines(total(devices), matmul_ns);
  result.notes.emplace_back(
      "matmul+conv counts kernels by name here; `headroom trace utilization` counts by launching op");
  if (trace.json_bytes > kLargeTrace && !has_host(trace)) {
    const Span window = index.window();
    const double steps = std::max<double>(1, static_cast<double>(index.steps().measured().size()));
    result.standing.push_back(
        step_line(step_shares(index, static_cast<double>(window.end - window.start) / steps, false)));
    result.answer.emplace_back(
        "to see what to fix first, run `headroom trace findings`: it also reads CPU events, for which a file "
        "this large needs much memory");
    return result;
  }
  add_summary(index, add_findings(index, kMostFindings, result), result);
  return result;
}

bool has_findings(const RankResult& rank) {
  return rank.result.summary != nullptr;
}

AnalysisResult combine_summary(std::span<const RankResult> ranks, const AnalysisOptions&) {
  AnalysisResult result = combine_headlines(ranks);
  if (!std::ranges::all_of(ranks, has_findings)) return result;
  constexpr std::size_t kMostFindings = 5;
  combine_findings(ranks, kMostFindings, result);
  return result;
}

/// Includes the summary's needs: its findings must equal those of `findings`.
constexpr Needs kSearchNeeds = kFindingNeeds | Needs::kOpIds | Needs::kPython | Needs::kOpArguments |
                               Needs::kGpuArguments | Needs::kMemory;

constexpr AnalysisOption kFindingOptions[] = {
    {"without", "NAME", "",
     "estimate the step time without anything called NAME (* matches any characters)"}};

AnalysisResult analyze_findings(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  if (std::string missing = missing_data_text(trace); !missing.empty())
    result.notes.push_back(std::move(missing));
  add_summary(index, add_findings(index, options.top, result, options.text("without")), result);
  if (has_only_memory(trace)) {
    result.standing.clear();
    result.answer = {no_gpu_work(trace)};
  }
  return result;
}

AnalysisResult combine_job_findings(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  AnalysisResult result;
  combine_findings(ranks, options.top, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis summary{.name = "summary",
                              .summary = "show what to fix first, GPU busy time, and the top kernels",
                              .needs = kSearchNeeds,
                              .analyze = analyze_summary,
                              .combine = combine_summary,
                              .needs_of_large = Needs::kGpuWork};

extern const Analysis findings{.name = "findings",
                               .summary = "rank the causes of lost time by their cost per step",
                               .needs = kSearchNeeds,
                               .analyze = analyze_findings,
                               .options = kFindingOptions,
                               .combine = combine_job_findings};

}  // namespace analysis

}  // namespace headroom::trace
