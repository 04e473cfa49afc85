// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/seed_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "headroom/base/csv.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/tool_record.h"

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

bool recognises(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  const std::string_view header = trimmed(head.substr(0, head.find('\n')));
  const std::vector<std::string> columns = split(header, ',');
  const auto has = [&columns](const char* name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  return has("name") && has("metric") && has("actual");
}

/// The cells of one line by the names of the header.
class SeedLine {
 public:
  SeedLine(const CsvRow& header, const CsvRow& cells, std::string where)
      : header_(header), cells_(cells), where_(std::move(where)) {}

  /// Empty where the line is too short or the file has no such column.
  std::string text(const char* column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    const auto index = static_cast<std::size_t>(found - header_.begin());
    return index < std::min(header_.size(), cells_.size()) ? cells_[index] : std::string();
  }
  std::optional<double> number(const char* column) const {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const std::optional<double> value = to_number(cell);
    if (!value) {
      throw Error(
          fmt::format("{}, column {}: expected a finite number, found {}", where_, column, in_quotes(cell)));
    }
    return value;
  }

 private:
  const CsvRow& header_;
  const CsvRow& cells_;
  std::string where_;
};

Record record_of(const SeedLine& line, const std::string& where) {
  const std::string metric = line.text("metric");
  Record record = headline_record("PyTorch gpt-fast benchmark", line.text("name"), metric,
                                  unit_of_name(metric), direction_of_name(metric));
  const std::optional<double> actual = line.number("actual");
  if (!actual) throw Error(where + ", column actual: is empty; expected a number");
  if (record.model.name.empty() || metric.empty()) {
    throw Error(where + ": name and metric must not be empty");
  }
  set_value(record, *actual);
  record.metric.target = line.number("target");
  record.benchmark.mode = "inference";
  record.benchmark.dtype = line.text("dtype");
  record.benchmark.extra_info["arch"] = line.text("arch");
  record.device = line.text("device");
  record.model.type = line.text("is_model") == "True" ? "OSS model" : "micro-benchmark";
  record.model.origins = {"pytorch"};
  return record;
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  const std::vector<CsvRow> lines = parse_csv(text.view(), source);
  std::vector<Record> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: row {}", source, i + 1);
    records.push_back(record_of(SeedLine(lines[0], lines[i], where), where));
  }
  if (records.empty()) throw Error(source + ": has a header and no rows; there is nothing to read");
  return records;
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
          .appends = true,
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
