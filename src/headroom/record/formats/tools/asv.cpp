// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/files/compressed_file.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// benchmarks.json in the folder above, which names parameters and units; null if it is not there.
Json asv_descriptions(const std::string& source) {
  const fs::path path = fs::path(source).parent_path().parent_path() / "benchmarks.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  Json json = parse_tool_json(read_compressed_file(path).view(), path.string());
  return json.is_object() ? json : Json();
}

/// asv knows what a benchmark measures by its name.
Record asv_record(const std::string& name, const Json* description, const std::string& where) {
  const std::string function = name.substr(name.rfind('.') + 1);
  const auto is = [&](std::string_view prefix) {
    return function.starts_with(prefix) ||
           function.starts_with(static_cast<char>(std::toupper(prefix[0])) + std::string(prefix.substr(1)));
  };
  if (is("time")) return headline_record("asv", name, "latency", "s");
  if (is("mem")) return headline_record("asv", name, "memory", "B");
  if (is("peakmem")) return headline_record("asv", name, "peak_memory", "B");
  const std::string unit = description == nullptr ? "" : json_string_or(*description, "unit", "", where);
  return headline_record("asv", name, "value", unit == "unit" ? "" : unit, guessed_direction(function, unit));
}

/// The columns of a row: result, params, samples.
struct AsvRow {
  const Json* result = nullptr;
  const Json* parameters = nullptr;
  const Json* samples = nullptr;
};

AsvRow asv_row(const Json& cells, const std::vector<std::string>& columns, const std::string& where) {
  if (!cells.is_array())
    throw Error(where + ": expected an array, as asv 0.5 and later write; run `asv update`");
  AsvRow row;
  for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
    if (cells[i].is_null()) continue;
    const auto list = [&] { return &require_array(cells[i], where + "/" + columns[i]); };
    if (columns[i] == "result") row.result = list();
    if (columns[i] == "params") row.parameters = list();
    if (columns[i] == "samples") row.samples = list();
  }
  return row;
}

/// Axis values are Python literals: 10, 'text'.
AxisValue asv_value(const std::string& literal) {
  const bool is_quoted =
      literal.size() >= 2 && (literal[0] == '\'' || literal[0] == '"') && literal.back() == literal[0];
  return is_quoted ? AxisValue(literal.substr(1, literal.size() - 2), AxisType::kText) : AxisValue(literal);
}

/// All combinations, the last parameter fastest, as itertools.product().
std::vector<AxisValues> asv_cases(const Json* parameters, const Json* description, const std::string& where) {
  std::vector<AxisValues> cases{{}};
  if (parameters == nullptr) return cases;
  const auto values =
      json_to<std::vector<std::vector<std::string>>>(*parameters, JsonPath(where + "/params"));
  std::vector<std::string> names;
  if (description != nullptr)
    names = json_member_or<std::vector<std::string>>(*description, "param_names", {}, "benchmarks.json: ");
  constexpr std::size_t kMaxCases = 1'000'000;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = i < names.size() ? names[i] : fmt::format("param{}", i + 1);
    if (cases.size() * std::max<std::size_t>(1, values[i].size()) > kMaxCases)
      throw Error(fmt::format("{}/params: more than {} combinations", where, kMaxCases));
    std::vector<AxisValues> longer;
    for (const AxisValues& axes : cases) {
      for (const std::string& value : values[i]) {
        longer.push_back(axes);
        longer.back().emplace_back(name, asv_value(value));
      }
    }
    cases = std::move(longer);
  }
  return cases;
}

void set_asv_value(Record& record, const AsvRow& row, std::size_t index, const std::string& where) {
  const std::string path = fmt::format("{}/result/{}", where, index);
  const Json* value = row.result != nullptr && index < row.result->size() ? &(*row.result)[index] : nullptr;
  if (value == nullptr || value->is_null()) {
    record.outcome = {Outcome::Kind::kFailed, "asv measured no value: the benchmark failed"};
    return;
  }
  const double number = tool_number(*value, path);
  if (std::isnan(number)) {
    record.outcome = {Outcome::Kind::kSkipped, "the benchmark skipped these parameters"};
    return;
  }
  const Json* samples =
      row.samples != nullptr && index < row.samples->size() ? &(*row.samples)[index] : nullptr;
  if (samples != nullptr && !samples->empty()) {
    set_samples(record, read_times(*samples, fmt::format("{}/samples/{}", where, index)));
  } else {
    set_value(record, record.metric.name == "latency" ? require_time(number, path) : number);
  }
}

std::shared_ptr<const Environment> environment_of_asv(const Json& document, const std::string& root) {
  Environment::Runner machine;
  StringMap extra;
  if (const Json* parameters = json_optional(document, "params", root)) {
    extra = plain_texts(*parameters);
    machine.name = extra["machine"];
    machine.type = extra["arch"];
    machine.cpu_info = extra["cpu"];
    machine.cpu_count = static_cast<std::uint32_t>(to_integer(extra["num_cpu"]).value_or(0));
    for (const char* key : {"machine", "arch", "cpu", "num_cpu"}) extra.erase(key);
  }
  auto environment = imported_environment(machine);
  environment->git_sha = json_string(document, "commit_hash", root);
  environment->timestamp = json_member_or<std::uint64_t>(document, "date", 0, root) / 1000;
  environment->extra_info = std::move(extra);
  return environment;
}

bool is_asv(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has_all({"commit_hash", "results"}) &&
         outline.has_any({"result_columns", "env_name", "params"});
}

std::vector<Record> read_asv(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  const auto environment = environment_of_asv(document, root);
  const auto columns = json_member_or<std::vector<std::string>>(document, "result_columns",
                                                                {"result", "params", "version"}, root);
  const Json descriptions = asv_descriptions(source);
  const Json& results = json_member(document, "results", root);
  std::vector<Record> records;
  for (const auto& [name, cells] : require_object(results, root + "/results").items()) {
    const std::string where = fmt::format("{}/results/{}", root, name);
    const Json* description = descriptions.is_object() ? descriptions.find(name) : nullptr;
    const AsvRow row = asv_row(cells, columns, where);
    Record base = asv_record(name, description, where);
    base.environment = environment;
    base.device = "cpu";
    std::size_t index = 0;
    for (AxisValues& axes : asv_cases(row.parameters, description, where)) {
      Record record = base;
      record.axes = std::move(axes);
      set_asv_value(record, row, index++, where);
      records.push_back(std::move(record));
    }
  }
  if (records.empty()) throw Error(root + "/results: is empty; there is nothing to read");
  return records;
}

}  // namespace

/// A result of asv, results/MACHINE/COMMIT-ENVIRONMENT.json (read); has samples with --record-samples.
Format asv_format() {
  return {.name = "asv", .summary = "JSON of asv", .recognises = is_asv, .read = read_asv};
}

}  // namespace headroom
