// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

constexpr const char* kGoogleBenchmark = "google-benchmark";

/// Numbers that are not user counters.
constexpr std::array kOwnNumbers{"family_index", "per_family_instance_index",
                                 "repetitions",  "repetition_index",
                                 "threads",      "iterations",
                                 "real_time",    "cpu_time"};

struct Run {
  std::string name, label;
  std::set<std::int64_t> repetitions;
  int threads = 0;
  std::uint64_t iterations = 0;
  std::string failure;
  std::vector<double> real_ns, cpu_ns;
  std::vector<std::pair<std::string, std::vector<double>>> counters;
  struct Aggregate {
    std::string name;
    const Json* object;
    std::string where;
  };
  std::vector<Aggregate> aggregates;
  std::string statistic;  ///< aggregate used instead of repetitions; may be empty
};

constexpr std::array<std::string_view, 6> kAggregates{"mean", "median", "stddev", "cv", "BigO", "RMS"};

struct AggregateName {
  std::string statistic, benchmark;
};

std::optional<AggregateName> split_aggregate_name(const std::string& name) {
  const std::size_t bar = name.rfind('_');
  if (bar == std::string::npos) return std::nullopt;
  const std::string ending = name.substr(bar + 1);
  if (std::ranges::find(kAggregates, ending) == kAggregates.end()) return std::nullopt;
  return AggregateName{ending, name.substr(0, bar)};
}

using Occurrences = std::unordered_map<std::string, std::size_t>;

/// Returns nothing for a repetition. Versions before 1.5 have no run_type: "f_median" is then a statistic if
/// "f" is in the file, too.
std::optional<AggregateName> aggregate_of(const Json& object, const Occurrences& occurrences,
                                          const std::string& where) {
  const std::string name = json_string(object, "name", where);
  const std::string type = json_string_or(object, "run_type", "", where);
  if (type == "iteration") return std::nullopt;
  const std::string statistic = json_string_or(object, "aggregate_name", "", where);
  std::optional<AggregateName> split = split_aggregate_name(name);
  const bool named =
      !type.empty() || !statistic.empty() || object.contains("big_o") || object.contains("rms");
  if (!named) {
    if (!split) return std::nullopt;
    const auto repeated = occurrences.find(split->benchmark);
    return repeated != occurrences.end() && repeated->second > 1 ? split : std::nullopt;
  }
  AggregateName found = split.value_or(AggregateName{"", name});
  if (!statistic.empty()) {
    found.statistic = statistic;
    if (name.ends_with("_" + statistic)) found.benchmark = name.substr(0, name.size() - statistic.size() - 1);
  }
  found.benchmark = json_string_or(object, "run_name", found.benchmark, where);
  return found;
}

/// Whether it is a fit over several benchmarks.
bool is_complexity(const std::string& statistic) {
  return statistic == "BigO" || statistic == "RMS";
}

double nanoseconds_per_unit(const Json& object, const std::string& where) {
  const std::string unit = json_string_or(object, "time_unit", "ns", where);
  if (const auto ns = nanoseconds_per(unit)) return *ns;
  throw Error(where + "/time_unit: expected 'ns', 'us', 'ms' or 's', found " + quote(unit));
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
    if (own || !value.is_number()) continue;
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
  run.real_ns.push_back(factor *
                        require_time(finite_number(object, "real_time", where), where + "/real_time"));
  // CPU time of a short run can be 0.
  const double cpu = factor * finite_number(object, "cpu_time", where);
  if (cpu < 0) throw Error(where + "/cpu_time: expected a time of at least zero; measure again");
  run.cpu_ns.push_back(cpu);
  add_counters(object, run);
}

/// Uses the median, else the mean, if there are no repetitions.
void use_aggregate(Run& run) {
  if (!run.real_ns.empty() || !run.failure.empty()) return;
  for (const char* statistic : {"median", "mean"}) {
    const auto found = std::ranges::find(run.aggregates, statistic, &Run::Aggregate::name);
    if (found == run.aggregates.end()) continue;
    add_repetition(*found->object, found->where, run);
    run.statistic = statistic;
    return;
  }
}

/// Equal names differ in their indexes, which older versions omit.
struct RunKey {
  std::string name;
  std::int64_t family, instance;
  auto operator<=>(const RunKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

RunKey key_of(const Json& object, std::string name, const std::string& where) {
  return {std::move(name), json_member_or<std::int64_t>(object, "family_index", -1, where),
          json_member_or<std::int64_t>(object, "per_family_instance_index", -1, where)};
}

/// Returns false if the run already has the repetition or statistic.
bool add_entry(Run& run, const Json& object, const std::optional<AggregateName>& aggregate,
               const std::string& where) {
  if (aggregate) {
    const auto known = std::ranges::find(run.aggregates, aggregate->statistic, &Run::Aggregate::name);
    if (!aggregate->statistic.empty() && known != run.aggregates.end()) return false;
    run.aggregates.push_back({aggregate->statistic, &object, where});
    return true;
  }
  const auto repetition = json_member_or<std::int64_t>(object, "repetition_index", -1, where);
  if (repetition >= 0 && !run.repetitions.insert(repetition).second) return false;
  add_repetition(object, where, run);
  return true;
}

/// `where_of`: the place of an entry.
std::vector<Run> read_runs(const Json& benchmarks, const std::string& root,
                           const std::function<std::string(std::size_t)>& where_of) {
  Occurrences occurrences;
  for (std::size_t i = 0; i < benchmarks.size(); ++i)
    ++occurrences[json_string(benchmarks[i], "name", where_of(i))];
  std::vector<Run> runs;
  std::map<RunKey, std::size_t> index;  // last run of each
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    const Json& object = benchmarks[i];
    const std::string where = where_of(i);
    const auto aggregate = aggregate_of(object, occurrences, where);
    if (aggregate && is_complexity(aggregate->statistic)) continue;
    const std::string name =
        aggregate ? aggregate->benchmark : json_string_or(object, "run_name", object["name"].string(), where);
    const auto [at, is_new] = index.try_emplace(key_of(object, name, where), runs.size());
    if (is_new) runs.emplace_back().name = name;
    if (add_entry(runs[at->second], object, aggregate, where)) continue;
    at->second = runs.size();
    runs.emplace_back().name = name;
    add_entry(runs.back(), object, aggregate, where);
  }
  for (Run& run : runs) use_aggregate(run);
  if (std::ranges::all_of(runs, [](const Run& run) { return run.real_ns.empty() && run.failure.empty(); })) {
    throw Error(root + (benchmarks.empty()
                            ? "/benchmarks: is empty; there is nothing to read"
                            : "/benchmarks: holds only aggregates, without a median or a mean; run the "
                              "benchmark without --benchmark_report_aggregates_only"));
  }
  return runs;
}

std::shared_ptr<const Environment> environment_of_google_benchmark(const Json& document,
                                                                   const std::string& root) {
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
    if (run.statistic.empty()) {
      set_samples(record, std::move(values), run.iterations);
    } else {
      set_value(record, values.front());
    }
    records.push_back(std::move(record));
  };
  Record latency = headline_record(kGoogleBenchmark, run.name, "latency", "ns");
  const bool failed = run.real_ns.empty();
  if (failed && run.failure.empty()) {
    run.failure = "the file holds neither its repetitions nor their median or mean";
  }
  if (run.statistic == "mean") latency.notes.push_back("The value is a mean: the file holds no median.");
  if (!failed && !run.failure.empty()) latency.notes.push_back("A repetition failed: " + run.failure);
  for (const auto& [name, values] : run.counters) {
    if (values.empty())
      latency.notes.push_back("Every value of the counter " + quote(name) + " is NaN or an infinity.");
  }
  add(std::move(latency), std::move(run.real_ns));
  if (failed) {
    records.back().outcome.reason = run.failure;
    return;
  }
  add(tool_record(kGoogleBenchmark, run.name, "cpu_time", "ns"), std::move(run.cpu_ns));
  for (auto& [name, values] : run.counters) {
    if (!values.empty())
      add(tool_record(kGoogleBenchmark, run.name, name, "", guessed_direction(name, "")), std::move(values));
  }
}

bool is_google_csv(std::string_view text) {
  return text.starts_with("name,iterations,real_time,cpu_time,time_unit");
}

bool is_google_benchmark(const FileOutline& outline) {
  if (is_google_csv(outline.text())) return true;
  return outline.starts_with_object() && outline.has("benchmarks") &&
         outline.has_any({"context", "benchmarks/real_time", "benchmarks/run_type"}) &&
         !outline.has("machine_info");
}

std::vector<Record> read_google_benchmark(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  const std::string root = source + ": ";
  if (is_google_csv(text.view())) {
    Json entries = Json::array();
    for (JsonRow& row : parse_csv_rows(text.view(), source, {"name", "label", "error_message"})) {
      // CSV has texts for booleans.
      if (row.object.contains("error_occurred"))
        row.object["error_occurred"] = row.object["error_occurred"] == "true";
      entries.push_back(std::move(row.object));
    }
    const auto where_of = [&](std::size_t position) { return fmt::format("{}row {}", root, position + 2); };
    for (Run& run : read_runs(entries, root, where_of)) add_records(run, imported_environment({}), records);
    return records;
  }
  const Json document = parse_tool_json(text.view(), source);
  const auto environment = environment_of_google_benchmark(document, root);
  const auto where_of = [&](std::size_t position) { return fmt::format("{}/benchmarks/{}", root, position); };
  for (Run& run : read_runs(json_array(document, "benchmarks", root), root, where_of))
    add_records(run, environment, records);
  return records;
}

}  // namespace

/// Google Benchmark's --benchmark_out_format=json or csv (read). Repetitions become samples, each user
/// counter a record. Without repetitions the median, else the mean, is a value without samples.
Format google_benchmark_format() {
  return {.name = "google-benchmark",
          .summary = "JSON of Google Benchmark",
          .recognises = is_google_benchmark,
          .read = read_google_benchmark,
          .one_run = true};
}

}  // namespace headroom
