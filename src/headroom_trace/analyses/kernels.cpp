// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/kernel_sequences.h"

namespace headroom::trace {
namespace {

enum class KernelsBy { kName, kType, kShape, kOp };

KernelsBy kernels_by(const AnalysisOptions& options) {
  constexpr std::pair<const char*, KernelsBy> kChoices[] = {{"name", KernelsBy::kName},
                                                            {"type", KernelsBy::kType},
                                                            {"shape", KernelsBy::kShape},
                                                            {"op", KernelsBy::kOp}};
  return options.choice("by", kChoices);
}

struct KernelGroup {
  std::vector<Cell> labels;
  DurationStats durations;
  std::array<std::int64_t, kKernelCategories> category_ns{};

  /// The category with the most time: kernels of one name may differ.
  const char* category() const {
    const auto most = std::ranges::max_element(category_ns);
    return to_string(static_cast<KernelCategory>(most - category_ns.begin()));
  }
};

std::string extent_text(const std::uint32_t (&extent)[3]) {
  if (extent[0] == 0 && extent[1] == 0 && extent[2] == 0) return "";
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

class Grouping {
 public:
  using Key = std::array<std::uint32_t, 7>;
  Grouping(const TraceIndex& index, KernelsBy by) : trace_(index.trace()), types_(index.types()), by_(by) {
    if (by == KernelsBy::kOp) ops_ = index.ops();
  }

  Key key(std::size_t row) const {
    const GpuDetail& work = trace_.gpu[row];
    const auto type = static_cast<std::uint32_t>(types_[row]);
    const NameId name = trace_.events.name[work.event];
    if (by_ == KernelsBy::kType) return {type};
    if (by_ == KernelsBy::kOp) return {ops_[row] == kNone ? kNoName : trace_.events.name[ops_[row]]};
    if (by_ == KernelsBy::kShape)
      return {name, work.grid[0], work.grid[1], work.grid[2], work.block[0], work.block[1], work.block[2]};
    return {name, type};
  }

  std::vector<Cell> labels(std::size_t row) const {
    const GpuDetail& work = trace_.gpu[row];
    const char* type = to_string(types_[row]);
    const std::string name(trace_.event_name(work.event));
    if (by_ == KernelsBy::kType) return {type};
    if (by_ == KernelsBy::kOp)
      return {ops_[row] == kNone ? Cell{} : Cell{std::string(trace_.event_name(ops_[row]))}};
    if (by_ == KernelsBy::kShape) return {name, type, extent_text(work.grid), extent_text(work.block)};
    return {name, type};
  }

  bool has_category() const { return by_ == KernelsBy::kName || by_ == KernelsBy::kShape; }

  std::vector<Column> columns() const {
    const Column name = Column::text("name"), type = Column::text("type").detail();
    if (by_ == KernelsBy::kType) return {type};
    if (by_ == KernelsBy::kOp) return {Column::text("op", "launching op")};
    if (by_ == KernelsBy::kShape) return {name, type, Column::text("grid"), Column::text("block")};
    return {name, type};
  }

 private:
  const Trace& trace_;
  const std::vector<KernelType>& types_;
  KernelsBy by_;
  std::vector<std::uint32_t> ops_;
};

DataTable kernel_table(const Trace& trace, const Grouping& grouping,
                       const std::vector<KernelCategory>& categories, std::int64_t sum) {
  std::map<Grouping::Key, std::size_t> places;
  std::vector<KernelGroup> groups;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const auto [place, is_new] = places.emplace(grouping.key(row), groups.size());
    if (is_new) groups.push_back({grouping.labels(row), {}});
    KernelGroup& group = groups[place->second];
    const std::int64_t duration = trace.events.duration_ns[trace.gpu[row].event];
    group.durations.add(duration);
    std::int64_t& of_category = group.category_ns[static_cast<std::size_t>(categories[row])];
    of_category = saturating_add(of_category, std::max<std::int64_t>(duration, 1));
  }
  std::ranges::stable_sort(groups, std::greater{},
                           [](const KernelGroup& group) { return group.durations.total_ns(); });
  DataTable table{"kernels", "by total time", grouping.columns()};
  if (grouping.has_category()) table.columns.push_back(Column::text("category"));
  add_columns(table, {Column::count("count"), Column::time("total_ns").main(), Column::share("share").main(),
                      Column::time("mean_ns"), Column::time("std_ns").detail(),
                      Column::time("min_ns").detail(), Column::time("max_ns").detail()});
  for (KernelGroup& group : groups) {
    std::vector<Cell>& row = table.rows.emplace_back(std::move(group.labels));
    if (grouping.has_category()) row.emplace_back(group.category());
    const DurationStats& durations = group.durations;
    row.insert(row.end(),
               {durations.count(), durations.total_ns(), share_cell(durations.total_ns(), sum),
                durations.mean_ns(), durations.count() < 2 ? Cell{} : Cell{durations.standard_deviation_ns()},
                durations.min_ns(), durations.max_ns()});
  }
  return table;
}

DataTable type_table(const Trace& trace, const std::vector<KernelType>& types,
                     std::span<const DeviceTimes> devices, std::int64_t busy_ns) {
  constexpr std::array kTypes{KernelType::kCompute, KernelType::kCommunication, KernelType::kMemory};
  std::array<DurationStats, kTypes.size()> durations;
  for (std::size_t row = 0; row < types.size(); ++row)
    durations[static_cast<std::size_t>(types[row])].add(trace.events.duration_ns[trace.gpu[row].event]);
  DataTable table{"types",
                  "by type, overlapping work counted once",
                  {Column::text("type").detail(), Column::count("count"), Column::time("sum_ns"),
                   Column::time("merged_ns"), Column::share("share_of_busy", "of busy")}};
  for (const KernelType type : kTypes) {
    std::int64_t merged_ns = 0;
    for (const DeviceTimes& times : devices) {
      const Spans& spans = type == KernelType::kCompute         ? times.compute
                           : type == KernelType::kCommunication ? times.communication
                                                                : times.memory;
      merged_ns = saturating_add(merged_ns, length(spans));
    }
    const DurationStats& of_type = durations[static_cast<std::size_t>(type)];
    if (of_type.count() == 0) continue;
    table.rows.push_back(
        {to_string(type), of_type.count(), of_type.total_ns(), merged_ns, share_cell(merged_ns, busy_ns)});
  }
  return table;
}

DataTable category_table(const Trace& trace, const std::vector<KernelCategory>& categories,
                         std::int64_t sum) {
  std::array<DurationStats, kKernelCategories> durations;
  for (std::size_t row = 0; row < categories.size(); ++row)
    durations[static_cast<std::size_t>(categories[row])].add(trace.events.duration_ns[trace.gpu[row].event]);
  std::vector<std::size_t> order(kKernelCategories);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return durations[i].total_ns(); });
  DataTable table{"categories",
                  "by kind of computation",
                  {Column::text("category"), Column::count("count"), Column::time("total_ns").main(),
                   Column::share("share").main(), Column::time("mean_ns")}};
  for (const std::size_t i : order) {
    const DurationStats& one = durations[i];
    if (one.count() == 0) continue;
    table.rows.push_back({to_string(static_cast<KernelCategory>(i)), one.count(), one.total_ns(),
                          share_cell(one.total_ns(), sum), one.mean_ns()});
  }
  return table;
}

DataTable sequence_table(const Trace& trace, const std::vector<KernelCategory>& categories, std::int64_t sum,
                         std::size_t top) {
  DataTable table{"sequences",
                  "kernel sequences that could be fused",
                  {Column::text("kernels"), Column::count("length"), Column::count("count"),
                   Column::time("total_ns").main(), Column::share("share").main(),
                   Column::time("gaps_ns", "gaps between")}};
  std::map<std::string, int> seen;
  for (const KernelSequence& sequence : kernel_sequences(trace, categories, top)) {
    std::string names = sequence_text(trace, sequence);
    // Template arguments may differ.
    if (const int number = ++seen[names]; number > 1) names += fmt::format(" #{}", number);
    table.rows.push_back({names, count_cell(sequence.names.size()), sequence.count, sequence.total_ns,
                          share_cell(sequence.total_ns, sum), sequence.gaps_ns});
  }
  return table;
}

DataTable combination_table(const Breakdown& sum) {
  constexpr std::array<const char*, 8> kNames{
      "",       "compute",          "communication",          "compute + communication",
      "memory", "compute + memory", "communication + memory", "compute + communication + memory"};
  DataTable table{
      "combinations",
      "busy time by kinds of work that ran at once",
      {Column::text("types"), Column::time("time_ns"), Column::share("share_of_busy", "of busy")}};
  for (std::size_t mask = 1; mask < kNames.size(); ++mask) {
    if (sum.combinations[mask] == 0) continue;
    table.rows.push_back(
        {kNames[mask], sum.combinations[mask], share_cell(sum.combinations[mask], sum.busy_ns)});
  }
  return table;
}

AnalysisResult analyze_kernels(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  const KernelsBy by = kernels_by(options);
  if (trace.gpu.empty()) return only_note(no_gpu_work(trace));
  AnalysisResult result;
  const std::vector<KernelType>& types = index.types();
  const std::vector<DeviceTimes>& devices = index.devices();
  const Breakdown busy = total(devices);
  DurationStats all;
  for (const GpuDetail& work : trace.gpu) all.add(trace.events.duration_ns[work.event]);
  const std::vector<KernelCategory> categories = kernel_categories(trace, types);
  DataTable kernels = kernel_table(trace, Grouping(index, by), categories, all.total_ns());
  if (const std::size_t left_out = keep_top(kernels, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more rows: --top 0 shows all", left_out));
  if (has_times(trace)) {
    result.tables = {std::move(kernels), type_table(trace, types, devices, busy.busy_ns),
                     combination_table(busy), category_table(trace, categories, all.total_ns()),
                     sequence_table(trace, categories, all.total_ns(), options.top)};
  } else {
    result.tables = {std::move(kernels), category_table(trace, categories, all.total_ns())};
    result.notes.emplace_back(kNoTimes);
  }
  result.headlines = {{"gpu_events", Kind::kCount, true, static_cast<double>(all.count())},
                      {"gpu_time_ns", Kind::kTimeNs, true, static_cast<double>(all.total_ns())},
                      {"mean_duration_ns", Kind::kTimeNs, true, all.mean_ns()}};
  return result;
}

Needs needs_with(const AnalysisOptions& options) {
  return kernels_by(options) == KernelsBy::kShape ? Needs::kGpuArguments : Needs::kGpuWork;
}

constexpr AnalysisOption kKernelOptions[] = {
    {"by", "WHAT", "name", "group by name, type, shape (grid and block) or op (the launching operator)"}};

}  // namespace

namespace analysis {

extern const Analysis kernels{.name = "kernels",
                              .summary = "show GPU work by name, shape or op, and sequences to fuse",
                              .needs = Needs::kLaunches | Needs::kOps,
                              .analyze = analyze_kernels,
                              .options = kKernelOptions,
                              .needs_with = needs_with};

}  // namespace analysis
}  // namespace headroom::trace
