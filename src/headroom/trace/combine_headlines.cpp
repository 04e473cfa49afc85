// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "headroom/stats/quantile.h"
#include "headroom/trace/analysis.h"

namespace headroom::trace {
namespace {

/// One headline over the ranks that have it. Only those of whole traces: ranks number their devices each for
/// itself.
struct Series {
  const Headline* first = nullptr;
  std::vector<double> values;
};

/// Its place among the columns, which are in the order of first sight.
std::size_t column_of(const Headline& headline, std::vector<Series>& columns) {
  const auto found = std::ranges::find_if(
      columns, [&](const Series& series) { return series.first->metric == headline.metric; });
  const auto column = static_cast<std::size_t>(found - columns.begin());
  if (found == columns.end()) columns.push_back({&headline, {}});
  return column;
}

/// "span" of span_ns, whose values are shown with a unit of their own.
std::string title_of(const Headline& headline) {
  constexpr std::string_view kUnit = "_ns";
  std::string title = headline.metric;
  if (headline.kind == Kind::kTimeNs && title.ends_with(kUnit)) title.resize(title.size() - kUnit.size());
  std::ranges::replace(title, '_', ' ');
  return title;
}

void add_columns(DataTable& table, const std::vector<Series>& columns) {
  for (const Series& series : columns)
    table.columns.push_back({series.first->metric, title_of(*series.first), series.first->kind});
}

DataTable rank_table(std::span<const RankResult> ranks, std::vector<Series>& columns) {
  DataTable table{"ranks", "by rank", {{"rank", "rank", Kind::kCount}, {"file", "file", Kind::kText}}, {}};
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
  add_columns(table, columns);
  for (std::vector<Cell>& row : table.rows) row.resize(table.columns.size());
  std::ranges::stable_sort(table.rows, {},
                           [](const std::vector<Cell>& row) { return std::get<std::int64_t>(row[0]); });
  return table;
}

/// The statistics are rows: the values of a metric have one kind, its column's.
DataTable spread_table(const std::vector<Series>& columns) {
  DataTable table{"spread", "over the ranks", {{"statistic", "", Kind::kText}}, {}};
  add_columns(table, columns);
  const auto add = [&](const char* name, auto&& value_of) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{std::string(name)});
    for (const Series& series : columns) row.emplace_back(value_of(series.values));
  };
  add("min", [](const std::vector<double>& values) { return std::ranges::min(values); });
  add("median", [](const std::vector<double>& values) { return median(values); });
  add("max", [](const std::vector<double>& values) { return std::ranges::max(values); });
  return table;
}

/// What every rank says once; the rest with the rank that says it, as long as it can be read.
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
