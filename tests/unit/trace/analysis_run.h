// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/readers/read.h"
#include "trace_builder.h"

namespace headroom::trace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

inline ReadOptions only(Needs needs) {
  ReadOptions options;
  options.needs = needs;
  return options;
}

/// Runs as the command does; rows must match the columns in number and kind.
inline AnalysisResult run_analysis(const std::string& name, const Trace& trace,
                                   const std::map<std::string, std::string>& given = {},
                                   std::size_t top = 20) {
  const Analysis* analysis = find_analysis(name);
  if (analysis == nullptr) throw std::invalid_argument("no analysis " + name);
  AnalysisOptions options;
  options.top = top;
  for (const auto& [option, value] : given) options.set(option, value);
  AnalysisResult result = analysis->analyze(TraceIndex(trace), options);
  for (const DataTable& table : result.tables) {
    for (const std::vector<Cell>& row : table.rows) {
      EXPECT_EQ(row.size(), table.columns.size()) << name << " " << table.key;
      for (std::size_t i = 0; i < std::min(row.size(), table.columns.size()); ++i) {
        const bool is_text = std::holds_alternative<std::string>(row[i]);
        if (std::holds_alternative<std::monostate>(row[i])) continue;
        EXPECT_EQ(is_text, table.columns[i].kind == Kind::kText) << name << " " << table.columns[i].key;
      }
    }
  }
  return result;
}

inline void expect_no_gpu_work(const AnalysisResult& result) {
  EXPECT_THAT(result.notes, Contains(HasSubstr("no GPU work")));
  EXPECT_THAT(result.tables, IsEmpty());
  EXPECT_THAT(result.headlines, IsEmpty());
}

/// As ranks 0, 1, ... of a job.
inline std::vector<RankResult> rank_results(const std::string& name,
                                            const std::vector<const TraceBuilder*>& builders) {
  std::vector<RankResult> ranks;
  for (const TraceBuilder* builder : builders) {
    const auto rank = std::ssize(ranks);
    ranks.push_back({"rank" + std::to_string(rank), rank, run_analysis(name, builder->trace)});
  }
  return ranks;
}

inline AnalysisResult combine_ranks(const std::string& name, const std::vector<const TraceBuilder*>& builders,
                                    const AnalysisOptions& options = {}) {
  return find_analysis(name)->combine(rank_results(name, builders), options);
}

class BuiltTrace : public testing::Test {
 protected:
  TraceBuilder builder;
  AnalysisResult run(const std::string& analysis, const std::map<std::string, std::string>& given = {},
                     std::size_t top = 20) const {
    return run_analysis(analysis, builder.trace, given, top);
  }
};

inline bool has_table(const AnalysisResult& result, const std::string& key) {
  return std::ranges::any_of(result.tables, [&](const DataTable& table) { return table.key == key; });
}
inline const DataTable& table_of(const AnalysisResult& result, const std::string& key) {
  for (const DataTable& table : result.tables) {
    if (table.key == key) return table;
  }
  throw std::invalid_argument("no table " + key);
}
inline std::size_t row_count(const AnalysisResult& result, const std::string& key) {
  return table_of(result, key).rows.size();
}

inline const Cell& cell(const DataTable& table, std::size_t row, const std::string& key) {
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].key == key) return table.rows.at(row).at(column);
  }
  throw std::invalid_argument("no column " + key);
}
inline bool is_nothing(const DataTable& table, std::size_t row, const std::string& key) {
  return std::holds_alternative<std::monostate>(cell(table, row, key));
}
inline double number(const DataTable& table, std::size_t row, const std::string& key) {
  const Cell& found = cell(table, row, key);
  if (const auto* integer = std::get_if<std::int64_t>(&found)) return static_cast<double>(*integer);
  return std::get<double>(found);
}
inline std::int64_t integer(const DataTable& table, std::size_t row, const std::string& key) {
  return std::get<std::int64_t>(cell(table, row, key));
}
inline std::string text(const DataTable& table, std::size_t row, const std::string& key) {
  return std::get<std::string>(cell(table, row, key));
}

inline bool is_nothing(const AnalysisResult& result, const char* table, std::size_t row,
                       const std::string& key) {
  return is_nothing(table_of(result, table), row, key);
}
inline double number(const AnalysisResult& result, const char* table, std::size_t row,
                     const std::string& key) {
  return number(table_of(result, table), row, key);
}
inline std::int64_t integer(const AnalysisResult& result, const char* table, std::size_t row,
                            const std::string& key) {
  return integer(table_of(result, table), row, key);
}
inline std::string text(const AnalysisResult& result, const char* table, std::size_t row,
                        const std::string& key) {
  return text(table_of(result, table), row, key);
}

inline std::int64_t column_sum(const DataTable& table, const std::string& key) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) sum += integer(table, row, key);
  return sum;
}
inline std::int64_t column_sum(const AnalysisResult& result, const char* table, const std::string& key) {
  return column_sum(table_of(result, table), key);
}

inline std::size_t row_with(const DataTable& table, const std::string& key, const std::string& value) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Cell& found = cell(table, row, key);
    if (std::holds_alternative<std::string>(found) && std::get<std::string>(found) == value) return row;
  }
  throw std::invalid_argument("no row " + value);
}

/// Compares by column. A real number matches a whole one; nothing is `Cell{}`.
inline void expect_row(const DataTable& table, std::size_t row,
                       std::initializer_list<std::pair<const char*, Cell>> expected,
                       std::source_location from = std::source_location::current()) {
  for (const auto& [column, value] : expected) {
    const testing::ScopedTrace place(from.file_name(), static_cast<int>(from.line()),
                                     table.key + " row " + std::to_string(row) + ", " + column);
    const Cell& found = cell(table, row, column);
    if (std::holds_alternative<double>(value) &&
        (std::holds_alternative<double>(found) || std::holds_alternative<std::int64_t>(found))) {
      EXPECT_DOUBLE_EQ(number(table, row, column), std::get<double>(value));
    } else {
      const Cell::variant &is = found, &should_be = value;  // gtest prints no derived class
      EXPECT_EQ(is, should_be);
    }
  }
}

inline void expect_row(const AnalysisResult& result, const char* table, std::size_t row,
                       std::initializer_list<std::pair<const char*, Cell>> expected,
                       std::source_location from = std::source_location::current()) {
  expect_row(table_of(result, table), row, expected, from);
}

inline const Headline* find_headline(const AnalysisResult& result, const std::string& metric,
                                     const std::string& device = "") {
  const auto found = std::ranges::find_if(result.headlines, [&](const Headline& headline) {
    return headline.metric == metric && headline.device == device;
  });
  return found == result.headlines.end() ? nullptr : &*found;
}
inline double headline(const AnalysisResult& result, const std::string& metric,
                       const std::string& device = "") {
  const Headline* found = find_headline(result, metric, device);
  if (found == nullptr) throw std::invalid_argument("no headline " + metric + " of device " + device);
  return found->value;
}

struct ExpectedHeadline {
  const char* metric;
  double value;
  const char* device = "";
};
inline void expect_headlines(const AnalysisResult& result, std::initializer_list<ExpectedHeadline> expected,
                             std::source_location from = std::source_location::current()) {
  for (const auto& [metric, value, device] : expected) {
    const testing::ScopedTrace place(from.file_name(), static_cast<int>(from.line()),
                                     std::string("headline ") + metric + " of device " + device);
    EXPECT_DOUBLE_EQ(headline(result, metric, device), value);
  }
}

}  // namespace headroom::trace
