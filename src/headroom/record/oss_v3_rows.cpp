// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/oss_v3_rows.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/codec.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/imported_machine.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/tool_json.h"
#include "headroom/record/tool_record.h"

namespace headroom {
namespace {

/// A number, or a text that holds one, as the gpt-fast benchmark writes them.
double read_value(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    if (const auto number = to_number(value.get<std::string>())) return *number;
  }
  throw Error(fmt::format("{}: expected a finite number, found {}", where,
                          is_tool_number(value) ? "NaN or an infinity" : plain_text(value)));
}

/// Takes the text of that name out of the map.
std::string taken(StringMap& map, const char* key) {
  const auto node = map.extract(key);
  return node.empty() ? std::string() : node.mapped();
}

std::optional<double> taken_number(StringMap& map, const char* key) {
  return to_number(taken(map, key));
}

StringMap read_texts(const Json& object, const char* key, const std::string& where) {
  const Json* member = json_optional(object, key, where);
  if (member == nullptr) return {};
  if (!member->is_object()) JsonPath(JsonPath(where), key).expected("an object", *member);
  return plain_texts(*member);
}

void read_benchmark(const Json& object, const std::string& where, Record& record) {
  record.benchmark.name = json_string(object, "name", where);
  record.benchmark.mode = json_string_or(object, "mode", "", where);
  record.benchmark.dtype = json_string_or(object, "dtype", "", where);
  StringMap extra = read_texts(object, "extra_info", where);
  record.device = taken(extra, "device");
  record.runner = taken(extra, "runner");
  record.caches = taken(extra, "caches");
  record.threads = static_cast<int>(to_integer(taken(extra, "threads")).value_or(0));
  record.benchmark.extra_info = std::move(extra);
}

/// What tells this case from others of its benchmark. Our own rows name those entries of
/// benchmark.extra_info, in their order; in a row of another program it is all of them.
void take_axes(const std::string& where, bool is_ours, Record& record) {
  constexpr std::string_view kPrefix = "axis_";  // of an axis whose own name was taken
  StringMap& extra = record.benchmark.extra_info;
  std::vector<std::string> keys;
  if (is_ours) {
    const std::string path = where + "/extra_info/axes";
    for (const Json& key : parse_tool_json(taken(record.metric.extra_info, "axes"), path)) {
      if (!key.is_string()) throw Error(path + ": expected an array of names");
      keys.push_back(key.get<std::string>());
    }
  } else {
    for (const auto& [key, text] : extra) {
      if (key != "arch") keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    record.axes.emplace_back(key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : key,
                             taken(extra, key.c_str()));
  }
}

void read_model(const Json& object, const std::string& where, Record& record) {
  record.model.name = json_string(object, "name", where);
  record.model.type = json_string_or(object, "type", "", where);
  record.model.backend = json_string_or(object, "backend", "", where);
  record.model.origins = json_member_or<std::vector<std::string>>(object, "origins", {}, where);
  record.model.extra_info = read_texts(object, "extra_info", where);
}

void read_inputs(const Json& row, const std::string& where, Record& record) {
  const Json* inputs = json_optional(row, "inputs", where);
  if (inputs == nullptr) return;
  if (!inputs->is_object()) JsonPath(JsonPath(where), "inputs").expected("an object", *inputs);
  for (const auto& [name, input] : inputs->items()) {
    const std::string path = where + "/inputs/" + name;
    const std::string dtype = json_string_or(input, "dtype", "", path);
    if (!dtype.empty()) record.axes.emplace_back(name + ".dtype", dtype);
    for (const auto& [key, value] : read_texts(input, "extra_info", path)) {
      record.axes.emplace_back(name + "." + key, value);
    }
  }
}

/// The samples of each process, and how many of them are warm-up, from the texts that our own writer keeps.
void take_samples(const std::string& where, Record& record) {
  StringMap& extra = record.metric.extra_info;
  const std::string samples = taken(extra, "samples"), warmup = taken(extra, "warmup");
  if (samples.empty()) return;
  const std::string path = where + "/samples";
  record.samples.clear();
  for (const Json& process : parse_tool_json(samples, path)) {
    if (!process.is_array()) throw Error(path + ": expected an array for each process");
    ProcessSamples read;
    for (const Json& value : process) {
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      read.values.push_back(value.is_null() ? kNan : json_to<double>(value, JsonPath(path)));
    }
    record.samples.push_back(std::move(read));
  }
  if (warmup.empty()) return;
  const Json counts = parse_tool_json(warmup, where + "/warmup");
  if (!counts.is_array() || counts.size() != record.samples.size()) {
    throw Error(where + "/warmup: expected a count for each process of samples");
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ProcessSamples& process = record.samples[i];
    process.warmup = json_to<std::size_t>(counts[i], JsonPath(where + "/warmup"));
    if (process.warmup > process.values.size())
      throw Error(where + "/warmup: is more than there are samples");
  }
}

/// What our own writer keeps in metric.extra_info beside the fields of the schema.
void take_own_fields(const std::string& where, Record& record) {
  StringMap& extra = record.metric.extra_info;
  const std::string direction = taken(extra, "direction");
  record.metric.direction = direction == "lower"    ? Direction::kLowerIsBetter
                            : direction == "higher" ? Direction::kHigherIsBetter
                                                    : direction_of_name(record.metric.name);
  record.metric.unit = taken(extra, "unit");
  if (record.metric.unit.empty()) record.metric.unit = unit_of_name(record.metric.name);
  const auto low = taken_number(extra, "interval_low"), high = taken_number(extra, "interval_high");
  const auto confidence = taken_number(extra, "interval_confidence");
  if (low && high && confidence) record.interval = Interval{*low, *high, *confidence};
  const std::string limit = taken(extra, "limit");
  if (const auto fraction = taken_number(extra, "limit_fraction"); fraction && *fraction != 0) {
    record.limit =
        Limit{record_json::limit_parts_of_name(limit), record.metric.value * *fraction, *fraction, {}, false};
    if (record.metric.direction == Direction::kHigherIsBetter)
      record.limit->value = record.metric.value / *fraction;
  }
  extra.erase("stop");
  record_json::take_members_from_texts(record);
  take_samples(where + "/extra_info", record);
}

void read_metric(const Json& object, const std::string& where, Record& record) {
  record.metric.name = json_string(object, "name", where);
  const Json& array = json_array(object, "benchmark_values", where);
  std::vector<double> values;
  for (const Json& value : array) {
    values.push_back(read_value(value, fmt::format("{}/benchmark_values/{}", where, values.size())));
  }
  if (values.empty()) throw Error(where + "/benchmark_values: is empty; there is nothing to read");
  if (values.size() == 1) {
    set_value(record, values.front());
  } else {
    set_samples(record, std::move(values));
  }
  if (const Json* target = json_optional(object, "target_value", where); target != nullptr && *target != "") {
    record.metric.target = read_value(*target, where + "/target_value");
  }
  record.metric.extra_info = read_texts(object, "extra_info", where);
  take_own_fields(where, record);
}

/// Ours say their fingerprint; of others it is made of what they say.
std::string take_fingerprint(std::vector<Environment::Runner>& machines) {
  std::string ours;
  for (Environment::Runner& machine : machines) {
    const auto said = machine.extra_info.extract(kFingerprintKey);
    if (!said.empty()) ours = said.mapped();
  }
  return ours.empty() ? imported_fingerprint(machines) : ours;
}

Environment read_environment(const Json& row, const std::string& where) {
  Environment environment;
  environment.timestamp = json_member_or<std::uint64_t>(row, "timestamp", 0, where);
  environment.git_repo = json_string_or(row, "repo", "", where);
  environment.git_branch = json_string_or(row, "head_branch", "", where);
  environment.git_sha = json_string_or(row, "head_sha", "", where);
  if (json_optional(row, "runners", where) != nullptr) {
    for (const Json& machine : json_array(row, "runners", where)) {
      const std::string path = fmt::format("{}/runners/{}", where, environment.machines.size());
      environment.machines.push_back(json_to<Environment::Runner>(machine, JsonPath(path)));
    }
    environment.fingerprint = take_fingerprint(environment.machines);
  }
  environment.dependencies =
      json_member_or<decltype(environment.dependencies)>(row, "dependencies", {}, where);
  for (const char* key : {"workflow_id", "job_id", "run_attempt"}) {
    if (const Json* id = json_optional(row, key, where)) environment.extra_info[key] = plain_text(*id);
  }
  return environment;
}

/// The dashboard takes the machine for the device where the benchmark names none.
void fill_device(Record& record) {
  if (record.environment->machines.empty()) return;
  const Environment::Runner& machine = record.environment->machines.front();
  if (record.device.empty()) record.device = machine.name;
}

}  // namespace

std::vector<Record> records_from_oss_v3(std::string_view text, const std::string& source) {
  std::vector<Record> records;
  // Each row repeats its environment; equal ones are shared.
  std::map<std::string, std::shared_ptr<const Environment>> environments;
  for (const JsonRow& row : parse_json_rows(text, source)) {
    Record record;
    read_benchmark(json_member(row.object, "benchmark", row.where), row.where + "/benchmark", record);
    read_model(json_member(row.object, "model", row.where), row.where + "/model", record);
    read_metric(json_member(row.object, "metric", row.where), row.where + "/metric", record);
    const bool is_ours = record.metric.extra_info.contains("axes");
    take_axes(row.where + "/metric", is_ours, record);
    read_inputs(row.object, row.where, record);
    const Environment environment = read_environment(row.object, row.where);
    auto& shared = environments[dump_json(json_of(environment))];
    if (shared == nullptr) shared = std::make_shared<Environment>(environment);
    record.environment = shared;
    if (!is_ours) fill_device(record);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace headroom
