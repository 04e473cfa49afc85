// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/seed_csv.h"

#include <fmt/format.h>

#include "headroom/base/csv.h"

namespace headroom {
namespace {

struct CellText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{:.6f}", value); }
  std::string operator()(const std::string& value) const { return value; }
};

CsvRow cells(const SeedRow& row) {
  return {row.name,
          row.metric,
          std::visit(CellText{}, row.target),
          std::visit(CellText{}, row.actual),
          row.dtype,
          row.device,
          row.arch,
          row.is_model ? "True" : "False"};
}

std::string write(const std::vector<Record>& records, std::string_view previous, const std::string& source) {
  return seed_csv_text(seed_rows(records), previous, source);
}

}  // namespace

std::string seed_csv_text(std::span<const SeedRow> rows, std::string_view previous,
                          const std::string& source) {
  const CsvRow header{"name", "metric", "target", "actual", "dtype", "device", "arch", "is_model"};
  // Without rows there is nothing to add, and what the file holds is not touched.
  if (rows.empty()) return previous.empty() ? csv_line(header) : std::string(previous);
  std::vector<CsvRow> lines = parse_csv(previous, source);
  if (lines.empty()) lines.emplace_back();
  if (header.size() > lines[0].size()) lines[0] = header;
  for (const SeedRow& row : rows) lines.push_back(cells(row));

  const std::size_t columns = lines[0].size();
  std::string text;
  for (CsvRow& line : lines) {
    if (line.size() < columns) line.resize(columns, "0");
    text += csv_line(line);
  }
  return text;
}

Format seed_csv_format() {
  return {.name = "seed-csv",
          .summary = "the CSV of PyTorch's gpt-fast benchmark: means over shapes, rows are added",
          .endings = {".csv"},
          .write = write,
          .appends = true};
}

}  // namespace headroom
