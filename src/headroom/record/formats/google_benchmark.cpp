// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

constexpr const char* kTool = "google-benchmark";

/// Numbers of a run other than user counters.
constexpr std::array kOwnNumbers{"family_index", "per_family_instance_index",
                                 "repetitions",  "repetition_index",
                                 "threads",      "iterations",
                                 "real_time",    "cpu_time"};

/// The repetitions of one benchmark.
struct Run {
  std::string name, label;
  int threads = 0;
  std::uint64_t iterations = 0;
  std::string failure;  ///< why a repetition failed
  std::vector<double> real_ns, cpu_ns;
  std::vector<std::pair<std::string, std::vector<double>>> counters;
};

bool is_aggregate(const Json& object, const std::string& where) {
  const std::string type = json_string_or(object, "run_type", "", where);
  if (!type.empty()) return type != "iteration";
  // Versions before 1.5 have no run_type.
  if (object.contains("big_o") || object.contains("rms") || object.contains("aggregate_name")) return true;
  const std::string name = json_string(object, "name", where);
  constexpr std::array kEndings{"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](const char* end) { return name.ends_with(end); });
}

double nanoseconds_per_unit(const Json& object, const std::string& where) {
  const std::string unit = json_string_or(object, "time_unit", "ns", where);
  constexpr std::array<std::pair<const char*, double>, 4> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return factor;
  }
  throw Error(where + "/time_unit: expected 'ns', 'us', 'ms' or 's', found " + in_quotes(unit));
}

std::string failure_of(const Json& object, const std::string& where) {
  if (json_member_or<bool>(object, "error_occurred", false, where)) {
    return json_string_or(object, "error_message", "the benchmark reported an error", where);
  }
  const Json* skipped = object.find("skipped");
  if (skipped == nullptr || skipped->is_null() || *skipped == false) return {};
  return json_string_or(object, "skip_message", "the benchmark was skipped", where);
}

void add_counters(const Json& object, Run& run) {
  for (const auto& [key, value] : object.items()) {
    const bool own = std::find(kOwnNumbers.begin(), kOwnNumbers.end(), key) != kOwnNumbers.end();
    if (own || !is_tool_number(value)) continue;
    auto counter = std::find_if(run.counters.begin(), run.counters.end(),
                                [name = key](const auto& other) { return other.first == name; });
    if (counter == run.counters.end()) {
      counter = run.counters.insert(run.counters.end(), {key, {}});
    }
    const double number = tool_number(value, key);
    if (std::isfinite(number)) counter->second.push_back(number);
  }
}

void add_repetition(const Json& object, const std::string& where, Run& run) {
  run.threads = json_member_or<int>(object, "threads", 0, where);
  run.iterations = json_member_or<std::uint64_t>(object, "iterations", 0, where);
  run.label = json_string_or(object, "label", "", where);
  if (const std::string failure = failure_of(object, where); !failure.empty()) {
    run.failure = failure;
    return;
  }
  const double factor = nanoseconds_per_unit(object, where);
  run.real_ns.push_back(
      require_time(factor * finite_number(object, "real_time", where), where + "/real_time"));
  // CPU time may be too coarse for a short run.
  const double cpu = factor * finite_number(object, "cpu_time", where);
  if (cpu < 0) throw Error(where + "/cpu_time: expected a time from zero up; measure again");
  run.cpu_ns.push_back(cpu);
  add_counters(object, run);
}

std::vector<Run> read_runs(const Json& document, const std::string& root) {
  std::vector<Run> runs;
  std::unordered_map<std::string, std::size_t> index;
  std::size_t position = 0;
  for (const Json& object : json_array(document, "benchmarks", root)) {
    const std::string where = fmt::format("{}/benchmarks/{}", root, position++);
    if (is_aggregate(object, where)) continue;
    const std::string name = object.contains("run_name") ? json_string(object, "run_name", where)
                                                         : json_string(object, "name", where);
    const auto [at, is_new] = index.emplace(name, runs.size());
    if (is_new) runs.emplace_back().name = name;
    add_repetition(object, where, runs[at->second]);
  }
  if (runs.empty()) {
    throw Error(root + (position == 0 ? "/benchmarks: is empty; there is nothing to read"
                                      : "/benchmarks: holds aggregates only; run the benchmark without "
                                        "--benchmark_report_aggregates_only"));
  }
  return runs;
}

std::shared_ptr<const Environment> read_environment(const Json& document, const std::string& root) {
  auto environment = std::make_shared<Environment>();
  const Json* context = json_optional(document, "context", root);
  if (context == nullptr) return environment;
  const std::string where = root + "/context";
  environment->timestamp = seconds_of_iso_time(json_string_or(*context, "date", "", where));
  Environment::Runner machine;
  machine.name = json_string_or(*context, "host_name", "", where);
  machine.cpu_count = json_member_or<std::uint32_t>(*context, "num_cpus", 0, where);
  environment->machines.push_back(machine);
  environment->fingerprint = imported_fingerprint(environment->machines);
  environment->extra_info = plain_texts(*context);
  for (const char* key : {"date", "host_name", "num_cpus", "load_avg"}) environment->extra_info.erase(key);
  return environment;
}

void add_records(Run& run, const std::shared_ptr<const Environment>& environment,
                 std::vector<Record>& records) {
  const auto add = [&](Record record, std::vector<double> values) {
    record.device = "cpu";
    record.threads = run.threads;
    record.environment = environment;
    if (!run.label.empty()) record.model.extra_info["label"] = run.label;
    set_samples(record, std::move(values), run.iterations);
    records.push_back(std::move(record));
  };
  Record latency = headline_record(kTool, run.name, "latency", "ns");
  const bool failed = run.real_ns.empty();
  if (!failed && !run.failure.empty()) latency.notes.push_back("A repetition failed: " + run.failure);
  for (const auto& [name, values] : run.counters) {
    if (values.empty())
      latency.notes.push_back("Every value of the counter " + in_quotes(name) + " is NaN or an infinity.");
  }
  add(std::move(latency), std::move(run.real_ns));
  if (failed) {
    records.back().outcome.reason = run.failure;
    return;
  }
  add(tool_record(kTool, run.name, "cpu_time", "ns"), std::move(run.cpu_ns));
  for (auto& [name, values] : run.counters) {
    if (!values.empty())
      add(tool_record(kTool, run.name, name, "", direction_of_name(name)), std::move(values));
  }
}

bool recognises(std::string_view text) {
  return trimmed(text.substr(0, 256)).starts_with('{') && holds_keys(text, {"context", "benchmarks"});
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  const auto environment = read_environment(document, root);
  std::vector<Record> records;
  for (Run& run : read_runs(document, root)) add_records(run, environment, records);
  return records;
}

}  // namespace

/// Output of Google Benchmark's --benchmark_out_format=json (read). Aggregates are skipped, repetitions
/// become samples, and each user counter becomes a record.
Format google_benchmark_format() {
  return {.name = "google-benchmark",
          .summary = "JSON of Google Benchmark",
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
