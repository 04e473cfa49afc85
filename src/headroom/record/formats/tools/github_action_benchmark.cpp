// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

constexpr std::string_view kDataScript = "window.BENCHMARK_DATA";

/// `tool`: what measured, as the action names it; empty for its own JSON, which does not tell.
Direction direction_of_tool(const std::string& tool, const std::string& name, const std::string& unit) {
  if (tool.empty()) return guessed_direction(name, unit);
  const bool higher = tool == "customBiggerIsBetter" || tool == "pytest" || tool == "benchmarkjs";
  return higher ? Direction::kHigherIsBetter : Direction::kLowerIsBetter;
}

Record read_action_bench(const Json& bench, const std::string& tool, const std::string& where) {
  const std::string name = json_string(bench, "name", where), unit = json_string_or(bench, "unit", "", where);
  Record record =
      headline_record("github-action-benchmark", name, "value", unit, direction_of_tool(tool, name, unit));
  set_value(record, finite_number(bench, "value", where));
  return record;
}

/// A run of a suite: the benchmarks of one commit.
void add_commit_run(const std::string& suite, const Json& entry, const std::string& where,
                    std::vector<Record>& records) {
  auto environment = imported_environment({});
  const Json& commit = json_member(entry, "commit", where);
  environment->git_sha = json_string_or(commit, "id", "", where + "/commit");
  environment->timestamp = json_member_or<std::uint64_t>(entry, "date", 0, where) / 1000;
  const std::string tool = json_string_or(entry, "tool", "", where);
  environment->extra_info["tool"] = tool;
  std::size_t position = 0;
  for (const Json& bench : json_array(entry, "benches", where)) {
    Record record = read_action_bench(bench, tool, fmt::format("{}/benches/{}", where, position++));
    record.axes.emplace_back("suite", AxisValue(suite, AxisType::kText));
    record.environment = environment;
    records.push_back(std::move(record));
  }
}

std::vector<Record> read_entries(const Json& document, const std::string& root) {
  std::vector<Record> records;
  for (const auto& [suite, entries] :
       require_object(json_member(document, "entries", root), root + "/entries").items()) {
    std::size_t position = 0;
    const std::string path = fmt::format("{}/entries/{}", root, suite);
    for (const Json& entry : require_array(entries, path))
      add_commit_run(suite, entry, fmt::format("{}/{}", path, position++), records);
  }
  if (records.empty()) throw Error(root + "/entries: has no benches; there is nothing to read");
  return records;
}

bool is_github_action_benchmark(const FileOutline& outline) {
  return outline.text().starts_with(kDataScript) || outline.has_all({"lastUpdate", "entries"}) ||
         (!outline.starts_with_object() && outline.has_all({"name", "unit", "value"}));
}

std::vector<Record> read_github_action_benchmark(const PaddedText& text, const std::string& source) {
  std::string_view json = text.view();
  if (json.starts_with(kDataScript)) json.remove_prefix(std::min(json.find('{'), json.size()));
  const Json document = parse_tool_json(json, source);
  const std::string root = source + ": ";
  if (document.is_object()) return read_entries(document, root);
  std::vector<Record> records;
  for (const JsonRow& row : parse_json_rows(json, source))
    records.push_back(read_action_bench(row.object, "", row.where));
  return records;
}

}  // namespace

/// github-action-benchmark (read): its custom JSON, and the data that it stores, with a run for each commit.
Format github_action_benchmark_format() {
  return {.name = "github-action-benchmark",
          .summary = "JSON of github-action-benchmark, custom or stored (data.js)",
          .recognises = is_github_action_benchmark,
          .read = read_github_action_benchmark};
}

}  // namespace headroom
