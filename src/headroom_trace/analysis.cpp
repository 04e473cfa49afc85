// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"

// In the order of the help.
#define HEADROOM_TRACE_ANALYSES(ANALYSIS) \
  ANALYSIS(summary)                       \
  ANALYSIS(findings)                      \
  ANALYSIS(utilization)                   \
  ANALYSIS(kernels)                       \
  ANALYSIS(ops)                           \
  ANALYSIS(modules)                       \
  ANALYSIS(idle)                          \
  ANALYSIS(launch)                        \
  ANALYSIS(queue)                         \
  ANALYSIS(memory)                        \
  ANALYSIS(overlap)                       \
  ANALYSIS(steps)                         \
  ANALYSIS(efficiency)                    \
  ANALYSIS(critical_path)                 \
  ANALYSIS(collectives)                   \
  ANALYSIS(stragglers)                    \
  ANALYSIS(roofline)                      \
  ANALYSIS(validate)

namespace headroom::trace {
namespace {

/// Excludes device headlines, as device numbers are local.
struct Series {
  const Headline* first = nullptr;
  std::vector<double> values;
};

std::size_t column_of(const Headline& headline, std::vector<Series>& columns) {
  const auto found = std::ranges::find_if(
      columns, [&](const Series& series) { return series.first->metric == headline.metric; });
  const auto column = static_cast<std::size_t>(found - columns.begin());
  if (found == columns.end()) columns.push_back({&headline, {}});
  return column;
}

void add_headlines(DataTable& table, const std::vector<Series>& columns) {
  constexpr std::string_view kShare = " share";
  std::string common;  // "critical path" of "critical path launch"
  for (const Series& series : columns) {
    Column& column = table.columns.emplace_back(Column::of(series.first->kind, series.first->metric));
    if (column.kind == Kind::kShare && column.title.ends_with(kShare))
      column.title.resize(column.title.size() - kShare.size());
    if (common.empty()) {
      common = column.title + " ";
    } else if (column.title.starts_with(common)) {
      column.title.erase(0, common.size());
    }
  }
}

DataTable rank_table(std::span<const RankResult> ranks, std::vector<Series>& columns) {
  DataTable table{"ranks", "by rank", {Column::count("rank"), Column::text("file").detail()}};
  for (const RankResult& rank : ranks) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{rank.rank, rank.source});
    for (const Headline& headline : rank.result.headlines) {
      if (!headline.device.empty() || !std::isfinite(headline.value)) continue;
      const std::size_t column = column_of(headline, columns);
      columns[column].values.push_back(headline.value);
      row.resize(std::max(row.size(), column + 3));
      row[column + 2] = headline.value;
    }
  }
  add_headlines(table, columns);
  for (std::vector<Cell>& row : table.rows) row.resize(table.columns.size());
  std::ranges::stable_sort(table.rows, {},
                           [](const std::vector<Cell>& row) { return std::get<std::int64_t>(row[0]); });
  return table;
}

DataTable spread_table(const std::vector<Series>& columns) {
  DataTable table{"spread", "over the ranks", {Column::text("statistic", "")}};
  add_headlines(table, columns);
  const auto add = [&](const char* name, auto&& value_of) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{std::string(name)});
    for (const Series& series : columns) row.emplace_back(value_of(series.values));
  };
  add("min", [](const std::vector<double>& values) { return std::ranges::min(values); });
  add("median", [](const std::vector<double>& values) { return median(values); });
  add("max", [](const std::vector<double>& values) { return std::ranges::max(values); });
  return table;
}

/// Notes common to all ranks first.
std::vector<std::string> joined_notes(std::span<const RankResult> ranks) {
  constexpr std::size_t kMost = 20;
  std::vector<std::pair<const std::string*, std::size_t>> counts;
  for (const RankResult& rank : ranks) {
    for (const std::string& note : rank.result.notes) {
      const auto found =
          std::ranges::find_if(counts, [&](const auto& entry) { return *entry.first == note; });
      if (found == counts.end()) {
        counts.emplace_back(&note, 1);
      } else {
        ++found->second;
      }
    }
  }
  std::vector<std::string> notes;
  std::size_t single = 0;
  for (const auto& [note, count] : counts) {
    if (count == ranks.size()) notes.push_back(*note);
  }
  for (const RankResult& rank : ranks) {
    for (const std::string& note : rank.result.notes) {
      if (std::ranges::find(notes, note) != notes.end()) continue;
      if (++single <= kMost) notes.push_back(fmt::format("rank {}: {}", rank.rank, note));
    }
  }
  if (single > kMost) notes.push_back(fmt::format("{} more notes on single ranks", single - kMost));
  return notes;
}

}  // namespace

namespace analysis {

#define HEADROOM_DECLARE(name) extern const Analysis name;
HEADROOM_TRACE_ANALYSES(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace analysis

std::span<const Analysis* const> analyses() {
#define HEADROOM_ENTRY(name) &analysis::name,
  static constexpr const Analysis* kAnalyses[] = {HEADROOM_TRACE_ANALYSES(HEADROOM_ENTRY)};
#undef HEADROOM_ENTRY
  return kAnalyses;
}

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis* analysis : analyses()) {
    if (name == analysis->name) return analysis;
  }
  return nullptr;
}

std::string AnalysisOptions::text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

double AnalysisOptions::number(const std::string& name, double fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(fmt::format("--{} {}: give a number", name, quote(text)));
  return value;
}

double AnalysisOptions::time_ns(const std::string& name, double fallback_ns) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback_ns;
  return with_context("--" + name, [&] { return parse_time_ns(found->second); });
}

Needs needs_of(const Analysis& analysis, const AnalysisOptions& options) {
  return analysis.needs_with == nullptr ? analysis.needs : analysis.needs | analysis.needs_with(options);
}

std::int64_t AnalysisOptions::rounded_time_ns(const std::string& name, std::int64_t fallback_ns) const {
  if (!values_.contains(name)) return fallback_ns;
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(time_ns(name, 0), -kMost, kMost));
}

AnalysisResult only_note(std::string note) {
  AnalysisResult result;
  result.notes.push_back(std::move(note));
  return result;
}

std::size_t AnalysisOptions::choice_of(const std::string& name, std::span<const char* const> choices) const {
  const std::string given = text(name, choices.front());
  const auto found =
      std::ranges::find(choices, given, [](const char* choice) { return std::string_view(choice); });
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const std::vector<std::string> others(choices.begin(), choices.end() - 1);
  throw Error(fmt::format("--{} {}: give {} or {}", name, quote(given), join(others, ", "), choices.back()));
}

std::size_t keep_top(DataTable& table, std::size_t top) {
  if (top == 0 || table.rows.size() <= top) return 0;
  const std::size_t left_out = table.rows.size() - top;
  table.rows.resize(top);
  return left_out;
}

AnalysisResult combine_headlines(std::span<const RankResult> ranks) {
  AnalysisResult combined;
  std::vector<Series> columns;
  combined.tables.push_back(rank_table(ranks, columns));
  if (!columns.empty()) combined.tables.push_back(spread_table(columns));
  for (const Series& series : columns) {
    combined.headlines.push_back(*series.first);
    combined.headlines.back().value = median(series.values);
  }
  combined.notes = joined_notes(ranks);
  return combined;
}

}  // namespace headroom::trace
