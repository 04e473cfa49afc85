// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_csv.h"

#include <fmt/format.h>

#include <cmath>

#include "headroom/base/csv.h"

namespace headroom {
namespace {

std::string plain_text(const trace::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) ? fmt::format("{}", *number) : "";
}

}  // namespace

std::string trace_csv(const trace::DataTable& table) {
  CsvRow line;
  for (const trace::Column& column : table.columns) line.push_back(column.key);
  std::string out = csv_line(line);
  for (const std::vector<trace::Cell>& row : table.rows) {
    line.clear();
    for (const trace::Cell& cell : row) line.push_back(plain_text(cell));
    out += csv_line(line);
  }
  return out;
}

std::string trace_csv(const trace::AnalysisResult& result) {
  std::string out;
  for (const trace::DataTable& table : result.tables) {
    if (!out.empty()) out += "\n";
    out += fmt::format("# {}: {}\n", table.key, table.title) + trace_csv(table);
  }
  return out;
}

}  // namespace headroom
