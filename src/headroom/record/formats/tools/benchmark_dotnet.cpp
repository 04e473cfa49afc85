// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// Returns "ShortRun(...)" of "Memory.Fill: ShortRun(...) [N=8]".
std::string job_of(const Json& benchmark, const std::string& where) {
  const std::string info = json_string_or(benchmark, "DisplayInfo", "", where);
  const std::size_t colon = info.find(": ");
  return colon == std::string::npos ? "" : info.substr(colon + 2, info.rfind(" [") - colon - 2);
}

/// Results of the workload, overhead taken off: a process for each launch.
std::vector<std::vector<double>> read_launches(const Json& benchmark, const std::string& where) {
  std::map<std::int64_t, std::vector<double>> launches;
  if (json_optional(benchmark, "Measurements", where) == nullptr) return {};
  std::size_t position = 0;
  for (const Json& measurement : json_array(benchmark, "Measurements", where)) {
    const std::string path = fmt::format("{}/Measurements/{}", where, position++);
    if (json_string_or(measurement, "IterationStage", "", path) != "Result") continue;
    const double ns = finite_number(measurement, "Nanoseconds", path) /
                      require_time(finite_number(measurement, "Operations", path), path + "/Operations");
    launches[json_member_or<std::int64_t>(measurement, "LaunchIndex", 0, path)].push_back(
        require_time(ns, path + "/Nanoseconds"));
  }
  std::vector<std::vector<double>> processes;
  for (auto& [launch, values] : launches) processes.push_back(std::move(values));
  return processes;
}

void set_dotnet_times(Record& record, const Json& benchmark, const std::string& where) {
  const Json* statistics = json_optional(benchmark, "Statistics", where);
  if (statistics == nullptr) {
    record.outcome = {Outcome::Kind::kFailed, "BenchmarkDotNet has no statistics of it"};
    return;
  }
  const std::string path = where + "/Statistics";
  if (auto launches = read_launches(benchmark, where); !launches.empty()) {
    set_process_samples(record, std::move(launches));
  } else if (json_optional(*statistics, "OriginalValues", path) != nullptr) {
    set_samples(record, read_times((*statistics)["OriginalValues"], path + "/OriginalValues"));
  } else {
    set_value(record, require_time(finite_number(*statistics, "Median", path), path + "/Median"));
  }
}

void add_dotnet_benchmark(const Json& benchmark, bool names_jobs, const std::string& where,
                          const std::shared_ptr<const Environment>& environment,
                          std::vector<Record>& records) {
  Record record =
      headline_record("BenchmarkDotNet", json_string(benchmark, "FullName", where), "latency", "ns");
  record.environment = environment;
  record.device = "cpu";
  if (names_jobs) record.axes.emplace_back("job", AxisValue(job_of(benchmark, where), AxisType::kText));
  const Record base = record;
  set_dotnet_times(record, benchmark, where);
  records.push_back(std::move(record));
  if (json_optional(benchmark, "Metrics", where) == nullptr) return;
  std::size_t position = 0;
  for (const Json& metric : json_array(benchmark, "Metrics", where)) {
    const std::string path = fmt::format("{}/Metrics/{}", where, position++);
    const Json& descriptor = json_member(metric, "Descriptor", path);
    const bool higher = json_member_or<bool>(descriptor, "TheGreaterTheBetter", false, path + "/Descriptor");
    Record other = base;
    set_metric(other, json_string(descriptor, "Id", path + "/Descriptor"),
               json_string_or(descriptor, "Unit", "", path + "/Descriptor"),
               higher ? Direction::kHigherIsBetter : Direction::kLowerIsBetter);
    set_value(other, finite_number(metric, "Value", path));
    records.push_back(std::move(other));
  }
}

std::shared_ptr<const Environment> environment_of_dotnet(const Json& document, const std::string& root) {
  const Json* host = json_optional(document, "HostEnvironmentInfo", root);
  if (host == nullptr) return imported_environment({});
  const std::string where = root + "/HostEnvironmentInfo";
  Environment::Runner machine;
  machine.type = json_string_or(*host, "Architecture", "", where);
  machine.cpu_info = json_string_or(*host, "ProcessorName", "", where);
  machine.cpu_count = json_member_or<std::uint32_t>(*host, "LogicalCoreCount", 0, where);
  auto environment = imported_environment(machine);
  for (const char* key : {"BenchmarkDotNetVersion", "OsVersion", "RuntimeVersion", "Configuration"})
    environment->extra_info[key] = json_string_or(*host, key, "", where);
  return environment;
}

bool is_benchmark_dotnet(const FileOutline& outline) {
  return outline.has_all({"HostEnvironmentInfo", "Benchmarks"});
}

std::vector<Record> read_benchmark_dotnet(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  const Json& benchmarks = json_array(document, "Benchmarks", root);
  const auto environment = environment_of_dotnet(document, root);
  const auto where = [&](std::size_t position) { return fmt::format("{}/Benchmarks/{}", root, position); };
  std::set<std::string> jobs;
  for (std::size_t i = 0; i < benchmarks.size(); ++i) jobs.insert(job_of(benchmarks[i], where(i)));
  std::vector<Record> records;
  for (std::size_t i = 0; i < benchmarks.size(); ++i)
    add_dotnet_benchmark(benchmarks[i], jobs.size() > 1, where(i), environment, records);
  if (records.empty()) throw Error(root + "/Benchmarks: is empty; there is nothing to read");
  return records;
}

}  // namespace

/// BenchmarkDotNet's JSON exporters (read); the brief one has no samples.
Format benchmark_dotnet_format() {
  return {.name = "benchmark-dotnet",
          .summary = "JSON of BenchmarkDotNet",
          .recognises = is_benchmark_dotnet,
          .read = read_benchmark_dotnet,
          .one_run = true};
}

}  // namespace headroom
