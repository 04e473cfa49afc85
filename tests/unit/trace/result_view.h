// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "headroom_trace/analysis.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// Access to an analysis' result by its JSON keys. Throws an exception that names a missing value or wrong
/// type.
class ResultView {
 public:
  explicit ResultView(AnalysisResult of) : result(std::move(of)) {}

  AnalysisResult result;

  bool has(const std::string& table) const {
    for (const DataTable& one : result.tables) {
      if (one.key == table) return true;
    }
    return false;
  }
  const DataTable& table(const std::string& key) const {
    for (const DataTable& one : result.tables) {
      if (one.key == key) return one;
    }
    throw std::out_of_range("no table " + key);
  }
  std::size_t rows(const std::string& key) const { return table(key).rows.size(); }
  const Cell& cell(const std::string& key, std::size_t row, const std::string& column) const {
    const DataTable& in = table(key);
    for (std::size_t c = 0; c < in.columns.size(); ++c) {
      if (in.columns[c].key == column) return in.rows.at(row).at(c);
    }
    throw std::out_of_range("no column " + column + " in " + key);
  }
  bool is_nothing(const std::string& key, std::size_t row, const std::string& column) const {
    return std::holds_alternative<std::monostate>(cell(key, row, column));
  }
  std::int64_t integer(const std::string& key, std::size_t row, const std::string& column) const {
    return std::get<std::int64_t>(cell(key, row, column));
  }
  double number(const std::string& key, std::size_t row, const std::string& column) const {
    return std::get<double>(cell(key, row, column));
  }
  std::string text(const std::string& key, std::size_t row, const std::string& column) const {
    return std::get<std::string>(cell(key, row, column));
  }
  bool has_headline(const std::string& metric, const std::string& device = "") const {
    return find(metric, device) != nullptr;
  }
  double headline(const std::string& metric, const std::string& device = "") const {
    const Headline* found = find(metric, device);
    if (found == nullptr) throw std::out_of_range("no headline " + metric + " of device " + device);
    return found->value;
  }
  bool notes(const std::string& part) const {
    for (const std::string& note : result.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }

 private:
  const Headline* find(const std::string& metric, const std::string& device) const {
    for (const Headline& headline : result.headlines) {
      if (headline.metric == metric && headline.device == device) return &headline;
    }
    return nullptr;
  }
};

/// Runs an analysis by name.
inline ResultView view_analysis(const char* name, const Trace& trace, const AnalysisOptions& options = {}) {
  const Analysis* analysis = find_analysis(name);
  if (analysis == nullptr) throw std::out_of_range(std::string("no analysis ") + name);
  ResultView view(analysis->analyze(TraceIndex(trace), options));
  for (const DataTable& table : view.result.tables) {
    for (const auto& row : table.rows) {
      if (row.size() != table.columns.size())
        throw std::logic_error("a row of " + table.key + " has not the columns of its table");
    }
  }
  return view;
}

inline AnalysisOptions option(const std::string& name, const std::string& value = "") {
  AnalysisOptions options;
  options.set(name, value);
  return options;
}

}  // namespace headroom::trace
