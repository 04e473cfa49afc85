// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"

namespace headroom::trace {

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
    throw Error(fmt::format("--{} {}: give a number", name, in_quotes(text)));
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

std::size_t keep_top(DataTable& table, std::size_t top) {
  if (top == 0 || table.rows.size() <= top) return 0;
  const std::size_t left_out = table.rows.size() - top;
  table.rows.resize(top);
  return left_out;
}

AnalysisResult combine_headlines(std::span<const RankResult> ranks) {
  AnalysisResult combined;
  DataTable by_rank{
      "ranks", "by rank", {{"rank", "rank", Kind::kCount}, {"source", "file", Kind::kText}}, {}};
  DataTable spread{"spread",
                   "over the ranks",
                   {{"metric", "metric", Kind::kText},
                    {"ranks", "ranks", Kind::kCount},
                    {"min", "min", Kind::kNumber},
                    {"median", "median", Kind::kNumber},
                    {"max", "max", Kind::kNumber}},
                   {}};
  std::vector<const Headline*> columns;
  const auto column_of = [&](const Headline& headline) -> std::size_t {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c]->metric == headline.metric) return c;
    }
    columns.push_back(&headline);
    by_rank.columns.push_back({headline.metric, headline.metric, headline.kind});
    return columns.size() - 1;
  };
  std::vector<std::vector<double>> values;
  for (const RankResult& rank : ranks) {
    std::vector<Cell> row{rank.rank, rank.source};
    for (const Headline& headline : rank.result.headlines) {
      if (!headline.device.empty()) continue;
      const std::size_t column = column_of(headline);
      row.resize(std::max(row.size(), column + 3));
      row[column + 2] = headline.value;
      values.resize(columns.size());
      values[column].push_back(headline.value);
    }
    by_rank.rows.push_back(std::move(row));
    for (const std::string& note : rank.result.notes) {
      if (std::ranges::find(combined.notes, note) == combined.notes.end()) combined.notes.push_back(note);
    }
  }
  for (std::vector<Cell>& row : by_rank.rows) row.resize(by_rank.columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double middle = median(values[c]);
    spread.rows.push_back({columns[c]->metric, static_cast<std::int64_t>(values[c].size()),
                           std::ranges::min(values[c]), middle, std::ranges::max(values[c])});
    combined.headlines.push_back(*columns[c]);
    combined.headlines.back().value = middle;
  }
  combined.tables = {std::move(by_rank), std::move(spread)};
  return combined;
}

}  // namespace headroom::trace
