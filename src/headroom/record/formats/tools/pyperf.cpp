// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// Metadata of a benchmark, and of the whole file.
struct PyperfMetadata {
  StringMap own, common;

  std::string text(const std::string& key) const {
    for (const StringMap* texts : {&own, &common}) {
      if (const auto found = texts->find(key); found != texts->end()) return found->second;
    }
    return {};
  }
  std::uint64_t whole(const std::string& key) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_integer(text(key)).value_or(0)));
  }
};

StringMap metadata_of(const Json& object, const std::string& where) {
  const Json* metadata = json_optional(object, "metadata", where);
  return metadata == nullptr ? StringMap() : plain_texts(*metadata);
}

Record record_of_unit(const PyperfMetadata& metadata, const std::string& where) {
  const std::string name = metadata.text("name"), unit = metadata.text("unit");
  if (name.empty()) throw Error(where + "/metadata/name: missing; expected the name of the benchmark");
  if (unit.empty() || unit == "second") return headline_record("pyperf", name, "latency", "s");
  if (unit == "byte") return headline_record("pyperf", name, "memory", "B");
  if (unit == "integer") return headline_record("pyperf", name, "value", "1", Direction::kUnknown);
  throw Error(where + "/metadata/unit: expected 'second', 'byte' or 'integer', found " + quote(unit));
}

std::shared_ptr<const Environment> environment_of_pyperf(const PyperfMetadata& metadata,
                                                         const std::string& date) {
  Environment::Runner machine;
  machine.name = metadata.text("hostname");
  machine.cpu_info = metadata.text("cpu_model_name");
  machine.cpu_count = static_cast<std::uint32_t>(metadata.whole("cpu_count"));
  auto environment = imported_environment(machine);
  environment->timestamp = seconds_of_iso_time(date);
  environment->extra_info = metadata.common;
  for (const char* key : {"name", "unit", "loops", "hostname", "cpu_model_name", "cpu_count"})
    environment->extra_info.erase(key);
  return environment;
}

/// A run is a process; those that only calibrate have no values.
Record read_pyperf_benchmark(const Json& benchmark, const StringMap& common, const std::string& where) {
  PyperfMetadata metadata{metadata_of(benchmark, where), common};
  Record record = record_of_unit(metadata, where);
  std::vector<std::vector<double>> processes;
  std::string date;
  std::size_t position = 0;
  for (const Json& run : json_array(benchmark, "runs", where)) {
    const std::string path = fmt::format("{}/runs/{}", where, position++);
    const StringMap of_run = metadata_of(run, path);
    if (const auto found = of_run.find("date"); date.empty() && found != of_run.end()) date = found->second;
    if (const auto found = of_run.find("loops"); found != of_run.end()) metadata.own.insert(*found);
    const Json* values = json_optional(run, "values", path);
    if (values == nullptr) continue;
    processes.push_back(record.metric.name == "latency"
                            ? read_times(*values, path + "/values")
                            : json_member_as<std::vector<double>>(run, "values", path));
  }
  set_process_samples(record, std::move(processes), metadata.whole("loops"));
  record.environment = environment_of_pyperf(metadata, date);
  return record;
}

bool is_pyperf(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has("benchmarks/runs");
}

std::vector<Record> read_pyperf(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  const StringMap common = metadata_of(document, root);
  std::vector<Record> records;
  for (const Json& benchmark : json_array(document, "benchmarks", root)) {
    records.push_back(
        read_pyperf_benchmark(benchmark, common, fmt::format("{}/benchmarks/{}", root, records.size())));
  }
  if (records.empty()) throw Error(root + "/benchmarks: is empty; there is nothing to read");
  return records;
}

}  // namespace

/// pyperf's -o (read).
Format pyperf_format() {
  return {.name = "pyperf",
          .summary = "JSON of pyperf",
          .recognises = is_pyperf,
          .read = read_pyperf,
          .one_run = true};
}

}  // namespace headroom
