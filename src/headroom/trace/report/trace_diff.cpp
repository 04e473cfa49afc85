// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/trace/tables/cells.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kChanges = 5;

Change change_of(const WorkSum& before, const WorkSum& after) {
  if (before.count == 0) return Change::kAdded;
  if (after.count == 0) return Change::kDeleted;
  if (before.count == after.count) return Change::kUnchanged;
  return after.count > before.count ? Change::kIncreased : Change::kDecreased;
}

/// Sums of a profile as they are shown: as they are, or by step.
struct Scale {
  double before = 1, after = 1;
  bool is_one = true;

  Cell of(std::int64_t value, double steps) const {
    return is_one ? Cell{value} : Cell{static_cast<double>(value) / steps};
  }
  double delta_ns(const DiffLine& line) const {
    return static_cast<double>(line.after.total_ns) / after -
           static_cast<double>(line.before.total_ns) / before;
  }
  Cell delta_cell(const DiffLine& line) const {
    return is_one ? Cell{line.after.total_ns - line.before.total_ns} : Cell{delta_ns(line)};
  }
  /// The five numbers of a line: two counts, two times, the difference.
  void append(std::vector<Cell>& row, const DiffLine& line) const {
    row.insert(row.end(),
               {of(line.before.count, before), of(line.after.count, after), of(line.before.total_ns, before),
                of(line.after.total_ns, after), delta_cell(line)});
  }
};

void add_sum_columns(DataTable& table) {
  for (const Column& column : std::vector<Column>{{"count_before", "count A", Kind::kCount},
                                                  {"count_after", "count B", Kind::kCount},
                                                  {"time_before_ns", "time A", Kind::kTimeNs},
                                                  {"time_after_ns", "time B", Kind::kTimeNs},
                                                  {"difference_ns", "B - A", Kind::kTimeNs}})
    table.columns.push_back(column);
}

/// Over the lines of each change: how many there are, and what they sum to.
DataTable changes_table(const std::vector<DiffLine>& lines, const Scale& scale) {
  std::array<DiffLine, kChanges> sums;
  std::array<std::size_t, kChanges> names{};
  DiffLine all;
  const auto add = [](DiffLine& sum, const DiffLine& line) {
    sum.before += line.before;
    sum.after += line.after;
  };
  for (const DiffLine& line : lines) {
    ++names[static_cast<std::size_t>(line.change)];
    add(sums[static_cast<std::size_t>(line.change)], line);
    add(all, line);
  }
  DataTable table{"changes",
                  "work of the devices, by what became of it",
                  {{"change", "kernels", Kind::kText}, {"names", "names", Kind::kCount}},
                  {}};
  add_sum_columns(table);
  const auto add_row = [&](const char* name, std::size_t count, const DiffLine& sum) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{name, count_cell(count)});
    scale.append(row, sum);
  };
  for (std::size_t i = 0; i < kChanges; ++i) add_row(to_string(static_cast<Change>(i)), names[i], sums[i]);
  add_row("all", lines.size(), all);
  return table;
}

/// A line, and what it is of where a table has several kinds.
struct Labelled {
  const char* kind = nullptr;
  DiffLine line;
};

std::vector<Labelled> labelled(const char* kind, std::vector<DiffLine> lines) {
  std::vector<Labelled> all;
  for (DiffLine& line : lines) all.push_back({kind, std::move(line)});
  return all;
}

/// The largest difference of time first. `table` has its names; its columns and rows are made here.
DataTable lines_table(DataTable table, std::vector<Labelled> lines, const Scale& scale, std::size_t top) {
  std::ranges::stable_sort(lines, std::greater{},
                           [&](const Labelled& entry) { return std::abs(scale.delta_ns(entry.line)); });
  const bool has_kinds = !lines.empty() && lines.front().kind != nullptr;
  if (has_kinds) table.columns.push_back({"kind", "kind", Kind::kText});
  table.columns.push_back({"change", "change", Kind::kText});
  add_sum_columns(table);
  table.columns.push_back({"name", "name", Kind::kText});
  for (const auto& [kind, line] : lines) {
    std::vector<Cell>& row = table.rows.emplace_back();
    if (has_kinds) row.emplace_back(kind);
    row.emplace_back(to_string(line.change));
    scale.append(row, line);
    row.emplace_back(line.name);
  }
  if (const std::size_t left_out = keep_top(table, top); left_out > 0)
    table.title += fmt::format(" (without {} more that differ less)", left_out);
  return table;
}

/// What the CPU did.
std::vector<Labelled> cpu_lines(const TraceProfile& before, const TraceProfile& after) {
  std::vector<Labelled> all = labelled("op", joined(before.ops, after.ops));
  for (auto& more : {labelled("annotation", joined(before.annotations, after.annotations)),
                     labelled("call", joined(before.calls, after.calls))})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

Scale scale_of(const TraceProfile& before, const TraceProfile& after, bool per_step) {
  if (!per_step) return {};
  if (before.steps == 0 || after.steps == 0)
    throw Error("--per-step: no ProfilerStep in the traces to divide by; leave it out");
  return {static_cast<double>(before.steps), static_cast<double>(after.steps), false};
}

void add_notes(const TraceProfile& before, const TraceProfile& after, const std::vector<DiffLine>& kernels,
               const DiffOptions& options, AnalysisResult& result) {
  if (before.steps != after.steps && !options.per_step) {
    result.notes.push_back(
        fmt::format("A has {} steps of the profiler and B {}: {}", before.steps, after.steps,
                    before.steps > 0 && after.steps > 0 ? "--per-step divides by them"
                                                        : "counts and times are of unequal work"));
  }
  if (before.traces != after.traces)
    result.notes.push_back(fmt::format("A is {} traces and B {}", before.traces, after.traces));
  for (const auto& [name, profile] : {std::pair{"A", &before}, std::pair{"B", &after}}) {
    if (profile->without_step > 0)
      result.notes.push_back(
          fmt::format("{} pieces of GPU work of {} are in no step: their launches are not in the file",
                      profile->without_step, name));
  }
  const bool any_common = std::ranges::any_of(
      kernels, [](const DiffLine& line) { return line.before.count > 0 && line.after.count > 0; });
  if (before.kernels.empty() || after.kernels.empty()) {
    result.notes.push_back(fmt::format("no work of a device in {}", before.kernels.empty() ? "A" : "B"));
  } else if (!any_common) {
    result.notes.emplace_back("no kernel of A is in B: are they of the same program?");
  }
}

/// How the time of all kernels changed, and whose changed most.
std::string answer_of(const std::vector<DiffLine>& kernels, const Scale& scale) {
  DiffLine all;
  const DiffLine* most = nullptr;
  for (const DiffLine& line : kernels) {
    all.before += line.before;
    all.after += line.after;
    if (most == nullptr || std::abs(scale.delta_ns(line)) > std::abs(scale.delta_ns(*most))) most = &line;
  }
  if (most == nullptr) return "no work of a device in either trace";
  const double before = static_cast<double>(all.before.total_ns) / scale.before, by = scale.delta_ns(all);
  const std::string share = before > 0 ? fmt::format(" ({:+.3g} %)", by / before * 100) : "";
  const std::string lead = fmt::format("devices work {} in A, {} in B{}{}", format_time_ns(before),
                                       format_time_ns(before + by), share, scale.is_one ? "" : " a step");
  const double delta = scale.delta_ns(*most);
  if (delta == 0) return lead + ": no kernel differs";
  return fmt::format("{}; most of one kernel: {}{} of {}", lead, delta > 0 ? "+" : "-",
                     format_time_ns(std::abs(delta)), most->name);
}

}  // namespace

const char* to_string(Change change) {
  constexpr std::array<const char*, kChanges> kNames{"added", "deleted", "increased", "decreased",
                                                     "unchanged"};
  return kNames[static_cast<std::size_t>(change)];
}

std::vector<DiffLine> joined(const WorkByName& before, const WorkByName& after) {
  std::vector<DiffLine> lines;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    const bool take_a = a != before.end() && (b == after.end() || a->first <= b->first);
    const bool take_b = b != after.end() && (a == before.end() || b->first <= a->first);
    DiffLine& line = lines.emplace_back();
    line.name = take_a ? a->first : b->first;
    if (take_a) line.before = (a++)->second;
    if (take_b) line.after = (b++)->second;
    line.change = change_of(line.before, line.after);
  }
  return lines;
}

AnalysisResult diff(const TraceProfile& before, const TraceProfile& after, const DiffOptions& options) {
  const Scale scale = scale_of(before, after, options.per_step);
  const std::vector<DiffLine> kernels = joined(before.kernels, after.kernels);
  AnalysisResult result;
  result.answer = {answer_of(kernels, scale)};
  result.tables.push_back(changes_table(kernels, scale));
  const auto add = [&](const char* key, const char* title, std::vector<Labelled> lines) {
    result.tables.push_back(lines_table({key, title, {}, {}}, std::move(lines), scale, options.top));
  };
  add("kernels", "kernels by the difference of their time", labelled(nullptr, kernels));
  add("ops", "ops, annotations and calls of the runtime, with what they call", cpu_lines(before, after));
  add("places", "kernels by the ops above their launch",
      labelled(nullptr, joined(before.places, after.places)));
  add_notes(before, after, kernels, options, result);
  return result;
}

}  // namespace headroom::trace
