// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/record.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

/// In a runner's extra_info, for Environment::fingerprint.
inline constexpr const char* kFingerprintKey = "fingerprint";

/// gpt-fast writes numeric strings.
double read_value(const Json& value, const std::string& where) {
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  if (value.is_string()) {
    if (const auto number = to_number(value.get<std::string>())) return *number;
  }
  throw Error(fmt::format("{}: expected a finite number, found {}", where,
                          value.is_number() ? "NaN or an infinity" : plain_text(value)));
}

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

/// Takes all entries of benchmark.extra_info, or in our rows those listed, in order.
void take_axes(const std::string& where, bool is_ours, Record& record) {
  constexpr std::string_view kPrefix = "axis_";  // of an axis whose name was taken
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
    if (process.warmup > process.values.size()) throw Error(where + "/warmup: exceeds the number of samples");
  }
}

void take_own_fields(const std::string& where, Record& record) {
  StringMap& extra = record.metric.extra_info;
  const std::string direction = taken(extra, "direction");
  record.metric.unit = taken(extra, "unit");
  if (record.metric.unit.empty()) record.metric.unit = unit_of_name(record.metric.name);
  record.metric.direction = direction == "lower"    ? Direction::kLowerIsBetter
                            : direction == "higher" ? Direction::kHigherIsBetter
                            : direction == "unknown"
                                ? Direction::kUnknown
                                : guessed_direction(record.metric.name, record.metric.unit);
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
  record_json::complete_old_record(record, {});
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

std::string take_fingerprint(std::vector<Environment::Runner>& machines) {
  std::string ours;
  for (Environment::Runner& machine : machines) {
    const auto said = machine.extra_info.extract(kFingerprintKey);
    if (!said.empty()) ours = said.mapped();
  }
  return ours.empty() ? imported_fingerprint(machines) : ours;
}

Environment environment_of_oss_v3(const Json& row, const std::string& where) {
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

/// The dashboard uses the machine as the default device.
void fill_device(Record& record) {
  if (record.environment->machines.empty()) return;
  const Environment::Runner& machine = record.environment->machines.front();
  if (record.device.empty()) record.device = machine.name;
}

struct Scale {
  double factor;
  std::string unit;
};

/// Uses one small unit for all times, as the dashboard keeps two decimals. A name such as
/// "compilation_time(s)" fixes it.
Scale scale_of(const Record::Metric& metric) {
  constexpr std::array<std::pair<const char*, double>, 5> kTimes{
      {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}}};
  if (metric.name.find('(') == std::string::npos) {
    for (const auto& [unit, factor] : kTimes) {
      if (metric.unit == unit) return {factor, "ns"};
    }
  }
  return {1, metric.unit};
}

std::string text_of(double value) {
  return dump_json(Json(value));
}

/// "[[1.5,1.25],[1.5]]", by process.
std::string samples_text(const Record& record, double factor) {
  Json all = Json::array();
  for (const ProcessSamples& process : record.samples) {
    Json values = Json::array();
    for (const double value : process.values) values.push_back(value * factor);
    all.push_back(std::move(values));
  }
  return dump_json(all);
}

/// "[1,0]", by process; empty if all are 0.
std::string warmup_text(const Record& record) {
  Json all = Json::array();
  bool any = false;
  for (const ProcessSamples& process : record.samples) {
    all.push_back(process.warmup);
    any = any || process.warmup > 0;
  }
  return any ? dump_json(all) : "";
}

Json metric_json(const Record& record, const std::vector<std::string>& axis_keys) {
  const Scale scale = scale_of(record.metric);
  StringMap extra = record.metric.extra_info;
  extra.merge(record_json::texts_of_members(record));
  extra["unit"] = scale.unit;
  extra["direction"] = to_string(record.metric.direction);
  extra["samples"] = samples_text(record, scale.factor);
  if (const std::string warmup = warmup_text(record); !warmup.empty()) extra["warmup"] = warmup;
  extra["axes"] = dump_json(axis_keys);
  extra["stop"] = to_string(record.stop);
  if (record.interval) {
    extra["interval_low"] = text_of(record.interval->low * scale.factor);
    extra["interval_high"] = text_of(record.interval->high * scale.factor);
    extra["interval_confidence"] = text_of(record.interval->confidence);
  }
  if (record.limit) {
    extra["limit"] = limit_name(*record.limit);
    extra["limit_fraction"] = text_of(record.limit->fraction);
  }
  Json json{{"name", record.metric.name},
            {"benchmark_values", Json::array({record.metric.value * scale.factor})}};
  if (record.metric.target) json["target_value"] = *record.metric.target * scale.factor;
  json["extra_info"] = extra;
  return json;
}

Json benchmark_json(const Record& record, std::vector<std::string>& axis_keys) {
  StringMap extra = record.benchmark.extra_info;
  extra["device"] = record.device;
  extra["arch"] = architecture(record);
  extra["runner"] = record.runner;
  if (!record.caches.empty()) extra["caches"] = record.caches;
  if (record.threads > 0) extra["threads"] = std::to_string(record.threads);
  // Axes must not overwrite the fields above.
  for (const auto& [axis, value] : record.axes) {
    axis_keys.push_back(extra.contains(axis) ? "axis_" + axis : axis);
    extra.emplace(axis_keys.back(), value.text());
  }
  return {{"name", record.benchmark.name},
          {"mode", record.benchmark.mode},
          {"dtype", torch_dtype(record.benchmark.dtype)},
          {"extra_info", extra}};
}

/// Omits unknown fields: the uploader fills in only absent ones. GPU results name the GPU as the machine, as
/// in PyTorch's uploads.
void add_upload_fields(const Environment& environment, const std::string& device, Json& json) {
  json["timestamp"] = environment.timestamp;
  json["schema_version"] = "v3";
  if (!environment.git_repo.empty()) json["repo"] = environment.git_repo;
  if (!environment.git_branch.empty()) json["head_branch"] = environment.git_branch;
  if (!environment.git_sha.empty()) json["head_sha"] = environment.git_sha;
  if (!environment.machines.empty()) {
    Json runners = Json::array();
    for (Environment::Runner machine : environment.machines) {
      if (device == "cuda" && !machine.gpu_info.empty()) {
        machine.name = device;
        machine.type = machine.gpu_info;
      }
      if (!environment.fingerprint.empty()) machine.extra_info[kFingerprintKey] = environment.fingerprint;
      runners.push_back(json_of(machine));
    }
    json["runners"] = std::move(runners);
  }
  if (!environment.dependencies.empty()) json["dependencies"] = json_of(environment.dependencies);
}

Json oss_json(const Record& record) {
  Json json = Json::object();
  if (record.environment) add_upload_fields(*record.environment, record.device, json);
  std::vector<std::string> axis_keys;
  json["benchmark"] = benchmark_json(record, axis_keys);
  json["model"] = {{"name", record.model.name},
                   {"type", record.model.type},
                   {"backend", record.model.backend},
                   {"origins", record.model.origins},
                   {"extra_info", record.model.extra_info}};
  json["metric"] = metric_json(record, axis_keys);
  return json;
}

std::string write_oss_v3(const std::vector<Record>& records, std::string_view, const std::string&) {
  std::string text = "[";
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured || !std::isfinite(record.metric.value)) continue;
    text += (text.size() == 1 ? "\n" : ",\n") + dump_json(oss_json(record));
  }
  return text + "\n]\n";
}

bool is_oss_v3(const FileOutline& outline) {
  return outline.has_all({"benchmark", "metric/benchmark_values"});
}

std::vector<Record> read_oss_v3(const PaddedText& text, const std::string& source) {
  return records_from_oss_v3(text.view(), source);
}

}  // namespace

std::vector<Record> records_from_oss_v3(std::string_view text, const std::string& source) {
  std::vector<Record> records;
  std::map<std::string, std::shared_ptr<const Environment>> environments;
  for (const JsonRow& row : parse_json_rows(text, source)) {
    Record record;
    read_benchmark(json_member(row.object, "benchmark", row.where), row.where + "/benchmark", record);
    read_model(json_member(row.object, "model", row.where), row.where + "/model", record);
    read_metric(json_member(row.object, "metric", row.where), row.where + "/metric", record);
    const bool is_ours = record.metric.extra_info.contains("axes");
    take_axes(row.where + "/metric", is_ours, record);
    read_inputs(row.object, row.where, record);
    const Environment environment = environment_of_oss_v3(row.object, row.where);
    auto& shared = environments[dump_json(json_of(environment))];
    if (shared == nullptr) shared = std::make_shared<Environment>(environment);
    record.environment = shared;
    if (!is_ours) fill_device(record);
    records.push_back(std::move(record));
  }
  return records;
}

/// PyTorch OSS benchmark database, schema v3: a JSON list, an object per line, of measured cases only.
///
/// The dashboard shows floor(mean(benchmark_values), 2) of Float32 numbers. So benchmark_values has one
/// robust value, times are in nanoseconds unless the metric's name fixes the unit, and the rest is strings in
/// metric.extra_info.
Format oss_v3_format() {
  return {.name = "oss-v3",
          .summary = "for the PyTorch OSS benchmark database (schema v3)",
          .endings = {".oss.json"},
          .write = write_oss_v3,
          .recognises = is_oss_v3,
          .read = read_oss_v3};
}

}  // namespace headroom
