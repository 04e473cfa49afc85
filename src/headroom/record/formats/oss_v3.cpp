// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/oss_v3.h"

#include <array>
#include <cmath>

#include "headroom/base/json.h"
#include "headroom/record/architecture.h"
#include "headroom/record/codec.h"
#include "headroom/record/dtype.h"
#include "headroom/record/environment_json.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/oss_v3_rows.h"
#include "headroom/record/tool_json.h"

namespace headroom {
namespace {

struct Scale {
  double factor;
  std::string unit;
};

/// One unit for all times, so that a metric keeps its unit from run to run, and small enough that two
/// decimals are enough. A name such as "compilation_time(s)" has said its unit already.
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

/// "[[1.5,1.25],[1.5]]": the samples of each process, in the order measured.
std::string samples_text(const Record& record, double factor) {
  Json all = Json::array();
  for (const ProcessSamples& process : record.samples) {
    Json values = Json::array();
    for (const double value : process.values) values.push_back(value * factor);
    all.push_back(std::move(values));
  }
  return dump_json(all);
}

/// "[1,0]": how many values of each process are warm-up; empty where none is.
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

/// Also gives the keys under which the axes went into extra_info, in their order.
Json benchmark_json(const Record& record, std::vector<std::string>& axis_keys) {
  StringMap extra = record.benchmark.extra_info;
  extra["device"] = record.device;
  extra["arch"] = architecture(record);
  extra["runner"] = record.runner;
  if (!record.caches.empty()) extra["caches"] = record.caches;
  if (record.threads > 0) extra["threads"] = std::to_string(record.threads);
  // An axis never hides one of the fields above.
  for (const auto& [axis, value] : record.axes) {
    axis_keys.push_back(extra.contains(axis) ? "axis_" + axis : axis);
    extra.emplace(axis_keys.back(), value.text());
  }
  return {{"name", record.benchmark.name},
          {"mode", record.benchmark.mode},
          {"dtype", torch_dtype(record.benchmark.dtype)},
          {"extra_info", extra}};
}

/// Fields of the whole upload. The uploader fills those that are absent, and ours win over its own: so an
/// unknown one is left out, never written empty. The machine of a result on a GPU has the GPU's names, as
/// PyTorch's own uploads have.
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

std::string write(const std::vector<Record>& records, std::string_view, const std::string&) {
  std::string text = "[";
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured || !std::isfinite(record.metric.value)) continue;
    text += (text.size() == 1 ? "\n" : ",\n") + dump_json(oss_json(record));
  }
  return text + "\n]\n";
}

bool recognises(std::string_view text) {
  return holds_keys(text, {"benchmark_values", "metric", "benchmark"});
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  return records_from_oss_v3(text.view(), source);
}

}  // namespace

Format oss_v3_format() {
  return {.name = "oss-v3",
          .summary = "for the PyTorch OSS benchmark database (schema v3)",
          .endings = {".oss.json"},
          .write = write,
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
