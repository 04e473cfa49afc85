// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/seed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/files/csv.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"
#include "headroom/record/targets.h"

namespace headroom {
namespace {

constexpr const char* kMiscounted = " (above its limit)";

struct Group {
  const Record* first = nullptr;
  std::vector<const Record*> measured;
  std::size_t left_out = 0;
};

std::vector<std::string> key_of(const Record& record) {
  return {record.model.name,
          record.model.backend,
          record.runner,
          record.benchmark.dtype,
          record.metric.name,
          record.device,
          record.caches,
          std::to_string(record.threads),
          is_miscounted(record) ? kMiscounted : ""};
}

std::vector<Group> group_by_shape(const std::vector<Record>& records) {
  std::vector<Group> groups;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const Record& record : records) {
    if (!record.metric.headline) continue;
    const auto [place, is_new] = places.try_emplace(key_of(record), groups.size());
    if (is_new) groups.push_back({&record, {}, 0});
    Group& group = groups[place->second];
    if (record.outcome.kind == Outcome::Kind::kMeasured && std::isfinite(record.metric.value)) {
      group.measured.push_back(&record);
    } else {
      ++group.left_out;
    }
  }
  return groups;
}

SeedNumber mean_target(const std::vector<const Record*>& records) {
  double sum = 0;
  for (const Record* record : records) {
    if (!record->metric.target) return std::monostate{};
    sum += *record->metric.target;
  }
  const double mean = sum / static_cast<double>(records.size());
  constexpr double kExactIntegers = 1e15;
  if (mean == std::floor(mean) && std::abs(mean) < kExactIntegers) return static_cast<std::int64_t>(mean);
  return mean;
}

/// Models have their publisher's names, kernels the experiment's.
std::string published_name(const Record& record) {
  const auto model = record.model.extra_info.find("model");
  const bool is_named = record.model.type == "OSS model" && model != record.model.extra_info.end();
  return is_named ? model->second : record.model.name;
}

SeedRow row_of(const Group& group, const std::string& name) {
  double sum = 0;
  for (const Record* record : group.measured) sum += record->metric.value;
  SeedRow row;
  row.name = name;
  row.metric = group.first->metric.name;
  row.target = mean_target(group.measured);
  row.actual = sum / static_cast<double>(group.measured.size());
  row.dtype = torch_dtype(group.first->benchmark.dtype);
  row.device = group.first->device;
  row.arch = architecture(*group.first);
  row.is_model = group.first->model.type == "OSS model";
  row.experiment = group.first->model.name;
  row.direction = group.first->metric.direction;
  row.unit = group.first->metric.unit;
  row.backend = group.first->model.backend;
  row.runner = group.first->runner;
  row.shapes = group.measured.size();
  row.cases = group.measured;
  row.left_out = group.left_out;
  return row;
}

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

std::string write_csv(const std::vector<Record>& records, std::string_view previous,
                      const std::string& source) {
  return seed_csv_text(seed_rows(records), previous, source);
}

bool is_seed_rows(const FileOutline& outline) {
  const std::string_view head = outline.text().substr(0, 4096);
  const std::string_view header = trimmed(head.substr(0, head.find('\n')));
  const std::vector<std::string> columns = split(header, ',');
  const auto has = [&columns](const char* name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  return has("name") && has("metric") && has("actual");
}

class SeedLine {
 public:
  SeedLine(const CsvRow& header, const CsvRow& cells, std::string where)
      : header_(header), cells_(cells), where_(std::move(where)) {}

  /// Empty if absent.
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
          fmt::format("{}, column {}: expected a finite number, found {}", where_, column, quote(cell)));
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
                                  unit_of_name(metric), guessed_direction(metric, unit_of_name(metric)));
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

std::vector<Record> read_seed_rows(const PaddedText& text, const std::string& source) {
  const std::vector<CsvRow> lines = parse_csv(text.view(), source);
  for (const char* column : {"name", "metric", "actual"}) {
    if (lines.empty() || std::ranges::find(lines[0], column) == lines[0].end())
      throw Error(fmt::format("{}: row 1: no column {}", source, quote(column)));
  }
  std::vector<Record> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: row {}", source, i + 1);
    records.push_back(record_of(SeedLine(lines[0], lines[i], where), where));
  }
  if (records.empty()) throw Error(source + ": has a header and no rows; there is nothing to read");
  return records;
}

struct NumberJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
  Json operator()(const std::string& text) const {
    if (const auto integer = to_integer(text)) return *integer;
    if (const auto number = to_number(text)) return *number;
    return text;
  }
};

/// As Python's json.dumps: escapes non-ASCII.
std::string dumped(const Json& value) {
  return dump_json_ascii(value);
}

/// Uses the spacing of Python's json.dumps, as the benchmark does.
std::string json_line(const SeedRow& row) {
  return fmt::format(
      R"({{"benchmark": {{"name": "PyTorch gpt-fast benchmark", "mode": "inference", "dtype": {}, )"
      R"("extra_info": {{"device": {}, "arch": {}}}}}, )"
      R"("model": {{"name": {}, "type": "{}", "origins": ["pytorch"]}}, )"
      R"("metric": {{"name": {}, "benchmark_values": [{}], "target_value": {}}}}})"
      "\n",
      dumped(row.dtype), dumped(row.device), dumped(row.arch), dumped(row.name),
      row.is_model ? "OSS model" : "micro-benchmark", dumped(row.metric),
      dumped(std::visit(NumberJson{}, row.actual)), dumped(std::visit(NumberJson{}, row.target)));
}

std::string write_jsonl(const std::vector<Record>& records, std::string_view previous, const std::string&) {
  return seed_jsonl_text(seed_rows(records), previous);
}

}  // namespace

std::vector<SeedRow> seed_rows(const std::vector<Record>& records) {
  // backend and runner with the plain name, by experiment
  std::map<std::string, const Record*> plain;
  std::vector<SeedRow> rows;
  for (const Group& group : group_by_shape(records)) {
    const Record& record = *group.first;
    const Record& first = *plain.emplace(record.model.name, &record).first->second;
    std::string name = published_name(record);
    if (record.model.backend != first.model.backend) {
      name += " (" + record.model.backend + ")";
    } else if (record.runner != first.runner) {
      name += " (" + record.runner + ")";
    }
    if (is_miscounted(record)) name += kMiscounted;
    if (!group.measured.empty()) rows.push_back(row_of(group, name));
  }
  return rows;
}

std::string seed_csv_text(std::span<const SeedRow> rows, std::string_view previous,
                          const std::string& source) {
  const CsvRow header{"name", "metric", "target", "actual", "dtype", "device", "arch", "is_model"};
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

/// PyTorch gpt-fast CSV; appends means over shapes.
Format seed_csv_format() {
  return {.name = "seed-csv",
          .summary = "CSV of PyTorch's gpt-fast benchmark: means over shapes, appends rows",
          .endings = {".csv"},
          .write = write_csv,
          .appends = true,
          .recognises = is_seed_rows,
          .read = read_seed_rows};
}

std::string seed_jsonl_text(std::span<const SeedRow> rows, std::string_view previous) {
  std::string text(previous);
  // The last line may lack its newline.
  if (!rows.empty() && !text.empty() && !text.ends_with('\n')) text += '\n';
  for (const SeedRow& row : rows) text += json_line(row);
  return text;
}

std::filesystem::path seed_jsonl_path(const std::filesystem::path& csv) {
  return std::filesystem::path(csv).replace_extension(".json");
}

/// PyTorch gpt-fast JSON lines; appends means over shapes. All numbers are JSON numbers, unlike gpt-fast's.
Format seed_jsonl_format() {
  return {.name = "seed-jsonl",
          .summary = "JSON lines of PyTorch's gpt-fast benchmark: means over shapes, appends lines",
          .endings = {".jsonl"},
          .write = write_jsonl,
          .appends = true};
}

}  // namespace headroom
