// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

std::shared_ptr<const Environment> environment_of_pytest_benchmark(const Json& document,
                                                                   const std::string& root) {
  auto environment = std::make_shared<Environment>();
  environment->timestamp = seconds_of_iso_time(json_string_or(document, "datetime", "", root));
  if (const Json* commit = json_optional(document, "commit_info", root)) {
    environment->git_sha = json_string_or(*commit, "id", "", root + "/commit_info");
    environment->git_branch = json_string_or(*commit, "branch", "", root + "/commit_info");
    environment->git_repo = json_string_or(*commit, "project", "", root + "/commit_info");
  }
  if (const Json* info = json_optional(document, "machine_info", root)) {
    const std::string where = root + "/machine_info";
    environment->extra_info = plain_texts(*info);
    Environment::Runner machine;
    machine.name = json_string_or(*info, "node", "", where);
    machine.type = json_string_or(*info, "machine", "", where);
    if (const Json* cpu = json_optional(*info, "cpu", where); cpu != nullptr && cpu->is_object()) {
      // py-cpuinfo before 6 has "brand".
      const char* brand = cpu->contains("brand_raw") ? "brand_raw" : "brand";
      machine.cpu_info = json_string_or(*cpu, brand, "", where + "/cpu");
      machine.cpu_count = json_member_or<std::uint32_t>(*cpu, "count", 0, where + "/cpu");
    }
    environment->machines.push_back(machine);
    environment->fingerprint = imported_fingerprint(environment->machines);
    for (const char* key : {"node", "machine", "cpu"}) environment->extra_info.erase(key);
  }
  if (document.contains("version")) {
    environment->dependencies["pytest-benchmark"].version = plain_text(document["version"]);
  }
  return environment;
}

Record read_benchmark(const Json& benchmark, const std::string& where) {
  const char* key = benchmark.contains("fullname") ? "fullname" : "name";
  Record record = headline_record("pytest-benchmark", json_string(benchmark, key, where), "latency", "s");
  if (const Json* parameters = json_optional(benchmark, "params", where)) {
    for (const auto& [name, value] : plain_texts(*parameters)) record.axes.emplace_back(name, value);
  }
  if (const Json* extra = json_optional(benchmark, "extra_info", where)) {
    record.benchmark.extra_info = plain_texts(*extra);
  }
  const std::string group = json_string_or(benchmark, "group", "", where);
  if (!group.empty()) record.benchmark.extra_info["group"] = group;

  const Json& stats = json_member(benchmark, "stats", where);
  const std::string path = where + "/stats";
  if (const Json* data = json_optional(stats, "data", path); data != nullptr && !data->empty()) {
    set_samples(record, read_times(*data, path + "/data"),
                json_member_or<std::uint64_t>(stats, "iterations", 0, path));
  } else {
    set_value(record, require_time(finite_number(stats, "median", path), path + "/median"));
  }
  return record;
}

bool is_pytest_benchmark(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has("benchmarks") &&
         (outline.has("machine_info") || outline.has_all({"benchmarks/fullname", "benchmarks/stats"}));
}

std::vector<Record> read_pytest_benchmark(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  const Json& benchmarks = json_array(document, "benchmarks", root);
  const auto environment = environment_of_pytest_benchmark(document, root);
  std::vector<Record> records;
  for (const Json& benchmark : benchmarks) {
    records.push_back(read_benchmark(benchmark, fmt::format("{}/benchmarks/{}", root, records.size())));
    records.back().environment = environment;
  }
  if (records.empty()) throw Error(root + "/benchmarks: is empty; there is nothing to read");
  return records;
}

}  // namespace

/// pytest-benchmark's --benchmark-json (read); has samples with --benchmark-save-data.
Format pytest_benchmark_format() {
  return {.name = "pytest-benchmark",
          .summary = "JSON of pytest-benchmark",
          .recognises = is_pytest_benchmark,
          .read = read_pytest_benchmark,
          .one_run = true};
}

}  // namespace headroom
