// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/trace_checks.h"

namespace headroom::trace {
namespace {

DataTable problems_table(const Trace& trace) {
  DataTable table{
      "problems", "parts that could not be read", {Column::count("offset", "byte"), Column::text("problem")}};
  for (const Problem& problem : trace.problems.first)
    table.rows.push_back({static_cast<std::int64_t>(problem.offset), problem.what});
  return table;
}

DataTable checks_table(const Trace& trace, const std::vector<TraceCheck>& checks) {
  DataTable table{
      "checks",
      "checks of the events against each other",
      {Column::text("check"), Column::count("count").main(), Column::count("of"), Column::time("largest_ns"),
       Column::text("verdict", "").main(), Column::text("example", "first of them").detail(),
       Column::instant("start_ns", "at").detail()}};
  for (const TraceCheck& check : checks) {
    const bool any = check.count > 0;
    std::vector<Cell> row{check.what,
                          count_cell(check.count),
                          count_cell(check.of),
                          check.largest_ns < 0 ? Cell{} : Cell{check.largest_ns},
                          !any               ? "ok"
                          : check.is_anomaly ? "wrong"
                                             : "note",
                          event_cell(trace, check.example),
                          check.example == kNone ? Cell{} : Cell{trace.events.start_ns[check.example]}};
    table.rows.push_back(std::move(row));
  }
  return table;
}

DataTable content_table(const Trace& trace) {
  constexpr std::array<std::pair<Category, const char*>, 12> kNames{
      {{Category::kKernel, "kernels"},
       {Category::kGpuMemcpy, "copies"},
       {Category::kGpuMemset, "sets"},
       {Category::kGpuAnnotation, "annotations on the GPU"},
       {Category::kGpuSync, "GPU synchronisations"},
       {Category::kRuntime, "runtime calls"},
       {Category::kDriver, "driver calls"},
       {Category::kCpuOp, "ops"},
       {Category::kUserAnnotation, "annotations"},
       {Category::kPython, "Python functions"},
       {Category::kOverhead, "profiler overhead"},
       {Category::kOther, "others with a duration"}}};
  std::array<std::size_t, kNames.size()> counts{};
  for (const Category category : trace.events.category) ++counts[static_cast<std::size_t>(category)];
  DataTable table{"content",
                  fmt::format("contents of the file: {} events", trace.events_seen),
                  {Column::text("what"), Column::count("count").main()}};
  const auto add = [&](const char* what, std::size_t count) {
    if (count > 0) table.rows.push_back({what, count_cell(count)});
  };
  for (const auto& [category, name] : kNames) add(name, counts[static_cast<std::size_t>(category)]);
  add("allocations and frees", trace.memory.size());
  add("flow events", trace.flows.size());
  add("threads and streams", trace.threads.size());
  add("steps", step_set(trace).steps.size());
  return table;
}

void add_notes(const Trace& trace, const std::vector<TraceCheck>& checks, AnalysisResult& result) {
  if (!trace.is_complete)
    result.notes.emplace_back("the file is truncated: everything before its end was read");
  if (trace.problems.count > trace.problems.first.size()) {
    result.notes.push_back(
        fmt::format("{} problems in all, the first {} are listed above; {} events are left out",
                    trace.problems.count, trace.problems.first.size(), trace.problems.events_skipped));
  }
  for (const TraceCheck& check : checks) {
    if (check.count > 0) result.notes.push_back(fmt::format("{}: {}", check.what, check.reason));
  }
  if (trace.rank && trace.world_size && *trace.rank >= *trace.world_size) {
    result.notes.push_back(
        fmt::format("rank {} in a job of {} ranks: ranks count from 0", *trace.rank, *trace.world_size));
  }
  if (trace.gpu.empty()) result.notes.emplace_back("no GPU work in the file");
}

AnalysisResult analyze_validate(const TraceIndex& index, const AnalysisOptions&) {
  const Trace& trace = index.trace();
  const std::vector<TraceCheck> checks = trace_checks(trace);
  AnalysisResult result;
  result.tables = {problems_table(trace), checks_table(trace, checks), content_table(trace)};
  std::size_t anomalies = 0;
  for (const TraceCheck& check : checks) anomalies += check.is_anomaly ? check.count : 0;
  const auto problems = static_cast<double>(trace.problems.count) + (trace.is_complete ? 0 : 1);
  result.headlines = {
      {"problems", Kind::kCount, true, problems},
      {"events_left_out", Kind::kCount, true, static_cast<double>(trace.problems.events_skipped)},
      {"anomalies", Kind::kCount, true, static_cast<double>(anomalies)}};
  add_notes(trace, checks, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis validate{.name = "validate",
                               .summary = "check the file: unreadable parts, contradictory events",
                               .needs = Needs::kAll | Needs::kSyntax,
                               .analyze = analyze_validate};

}  // namespace analysis
}  // namespace headroom::trace
