// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "headroom_trace/analysis.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// Runs the analysis as the command would; rows must match the columns in number and kind.
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

inline const DataTable& table_of(const AnalysisResult& result, const std::string& key) {
  for (const DataTable& table : result.tables) {
    if (table.key == key) return table;
  }
  throw std::invalid_argument("no table " + key);
}

inline bool has_table(const AnalysisResult& result, const std::string& key) {
  return std::ranges::any_of(result.tables, [&](const DataTable& table) { return table.key == key; });
}

inline const Cell& cell(const DataTable& table, std::size_t row, const std::string& key) {
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].key == key) return table.rows.at(row).at(column);
  }
  throw std::invalid_argument("no column " + key);
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

inline std::size_t row_with(const DataTable& table, const std::string& key, const std::string& value) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Cell& found = cell(table, row, key);
    if (std::holds_alternative<std::string>(found) && std::get<std::string>(found) == value) return row;
  }
  throw std::invalid_argument("no row " + value);
}

inline double headline(const AnalysisResult& result, const std::string& metric,
                       const std::string& device = "") {
  for (const Headline& headline : result.headlines) {
    if (headline.metric == metric && headline.device == device) return headline.value;
  }
  throw std::invalid_argument("no headline " + metric);
}

}  // namespace headroom::trace
