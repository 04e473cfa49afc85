// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/protocol.h"

#include "headroom/base/error.h"
#include "headroom/base/json_numbers.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

std::vector<std::string> strings(const Json& json, const char* key) {
  std::vector<std::string> values;
  for (const Json& value : json_array(json, key, "")) {
    if (!value.is_string()) throw Error("/" + std::string(key) + ": expected strings");
    values.push_back(value.get<std::string>());
  }
  return values;
}

Json to_json(const StringMap& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) json[key] = value;
  return json;
}

StringMap string_map(const Json& json, const char* key) {
  StringMap map;
  const Json& object = json_member(json, key, "");
  if (!object.is_object()) throw Error("/" + std::string(key) + ": expected an object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string()) throw Error("/" + std::string(key) + "/" + name + ": expected a string");
    map[name] = value.get<std::string>();
  }
  return map;
}

Json to_json(const CaseInfo& info) {
  Json metrics = Json::array();
  for (const ReportedMetric& metric : info.metrics) {
    Json told{{"name", metric.name},
              {"unit", metric.unit},
              {"higher_is_better", metric.direction == Direction::kHigherIsBetter},
              {"amount", metric.amount},
              {"is_rate", metric.kind == ReportedMetric::Kind::kRate}};
    if (metric.kind == ReportedMetric::Kind::kColumn) told["is_column"] = true;
    metrics.push_back(std::move(told));
  }
  Json json{{"flops", info.work.flops},
            {"bytes", info.work.bytes},
            {"bytes_written", info.work.bytes_written},
            {"dtype", info.work.dtype},
            {"copies", info.copies},
            {"verified", info.verified},
            {"max_error", info.max_error},
            {"tolerance", info.tolerance},
            {"metrics", metrics},
            {"inputs", to_json(info.inputs)},
            {"notes", to_json(info.notes)}};
  if (info.work.exchanged > 0) json["exchanged"] = info.work.exchanged;
  if (info.sums_in) json["sums_in"] = to_string(*info.sums_in);
  if (!info.wrong.empty()) json["wrong"] = info.wrong;
  return json;
}

std::optional<Precision> sums_in(const Json& json, const std::string& where) {
  if (!json.contains("sums_in")) return std::nullopt;
  const std::string name = json_string(json, "sums_in", where);
  const auto found = precision_named(name);
  if (!found) throw Error(where + "/sums_in: expected bf16, f16, f32 or f64, found " + in_quotes(name));
  return found;
}

ReportedMetric reported_metric(const Json& json, const std::string& where) {
  ReportedMetric metric;
  metric.name = json_string(json, "name", where);
  metric.unit = json_string(json, "unit", where);
  if (!json_bool(json, "higher_is_better", where)) metric.direction = Direction::kLowerIsBetter;
  metric.amount = json_number(json, "amount", where);
  if (json_bool(json, "is_rate", where)) metric.kind = ReportedMetric::Kind::kRate;
  if (json.contains("is_column") && json_bool(json, "is_column", where))
    metric.kind = ReportedMetric::Kind::kColumn;
  return metric;
}

CaseInfo case_info(const Json& json) {
  const std::string where = "/info";
  CaseInfo info;
  info.work = {json_number(json, "flops", where), json_number(json, "bytes", where),
               json_number(json, "bytes_written", where), json_string(json, "dtype", where),
               json.contains("exchanged") ? json_number(json, "exchanged", where) : 0};
  info.copies = json_integer<std::size_t>(json, "copies", where, 1);
  info.verified = json_bool(json, "verified", where);
  info.max_error = json_number(json, "max_error", where);
  info.tolerance = json_number(json, "tolerance", where);
  info.sums_in = sums_in(json, where);
  info.wrong = json_string_or(json, "wrong", "", where);
  for (const Json& metric : json_array(json, "metrics", where))
    info.metrics.push_back(reported_metric(metric, where + "/metrics"));
  info.inputs = string_map(json, "inputs");
  info.notes = string_map(json, "notes");
  return info;
}

}  // namespace

ExperimentDescription describe(const Experiment& experiment) {
  return {experiment.name(),     experiment.summary(),       experiment.metric(),
          experiment.device(),   experiment.axes(),          experiment.backends(),
          experiment.is_limit(), experiment.variants(),      experiment.also_metrics(),
          experiment.model(),    experiment.is_on_request(), experiment.is_each_rank_counting()};
}

Json to_json(const Hello& hello) {
  Json json{{"headroom_runner", hello.name}, {"protocol", hello.protocol}, {"version", hello.version}};
  if (hello.traces) json["traces"] = true;
  return json;
}

Hello hello_from_json(const Json& json) {
  return {json_string(json, "headroom_runner", ""), json_string(json, "version", ""),
          json_integer<int>(json, "protocol", ""), json.contains("traces") && json_bool(json, "traces", "")};
}

Json to_json(const ExperimentDescription& description) {
  Json axes = Json::array();
  for (const Axis& axis : description.axes) {
    Json told{{"name", axis.name}, {"integer", axis.kind == Axis::Kind::kInteger}, {"values", axis.values}};
    if (axis.kind == Axis::Kind::kFree) told["free"] = true;
    axes.push_back(std::move(told));
  }
  Json json{{"name", description.name},
            {"summary", description.summary},
            {"metric", description.metric},
            {"device", description.device},
            {"axes", axes},
            {"backends", description.backends},
            {"limit", description.is_limit}};
  if (!description.variants.empty()) json["variants"] = description.variants;
  if (!description.also_metrics.empty()) json["also_metrics"] = description.also_metrics;
  if (!description.model.empty()) json["model"] = description.model;
  if (description.is_on_request) json["on_request"] = true;
  if (description.each_rank_counts) json["each_rank_counts"] = true;
  return json;
}

ExperimentDescription description_from_json(const Json& json) {
  ExperimentDescription description{json_string(json, "name", ""),
                                    json_string(json, "summary", ""),
                                    json_string(json, "metric", ""),
                                    json_string(json, "device", ""),
                                    {},
                                    strings(json, "backends"),
                                    json_bool(json, "limit", "")};
  if (json.contains("variants")) {
    const Json& variants = json_member(json, "variants", "");
    if (!variants.is_object()) throw Error("/variants: expected an object");
    for (const auto& [backend, names] : variants.items()) {
      description.variants[backend] = strings(variants, backend.c_str());
    }
  }
  if (json.contains("also_metrics")) description.also_metrics = strings(json, "also_metrics");
  description.model = json_string_or(json, "model", "", "");
  description.is_on_request = json.contains("on_request") && json_bool(json, "on_request", "");
  description.each_rank_counts = json.contains("each_rank_counts") && json_bool(json, "each_rank_counts", "");
  if (description.backends.empty()) throw Error("/backends: expected at least one");
  for (const Json& axis : json_array(json, "axes", "")) {
    Axis::Kind kind = json_bool(axis, "integer", "") ? Axis::Kind::kInteger : Axis::Kind::kText;
    if (axis.contains("free") && json_bool(axis, "free", "")) kind = Axis::Kind::kFree;
    description.axes.push_back({json_string(axis, "name", ""), kind, strings(axis, "values")});
  }
  return description;
}

Json to_json(const CaseSpec& spec) {
  Json axes = Json::object();
  for (const auto& [name, value] : spec.axes) axes[name] = value;
  Json json{{"experiment", spec.experiment},
            {"axes", axes},
            {"backend", spec.backend},
            {"threads", spec.threads},
            {"cold", spec.caches == Caches::kCold},
            {"seed", spec.seed}};
  if (!spec.variant.empty()) json["variant"] = spec.variant;
  if (spec.keep_wrong) json["keep_wrong"] = true;
  if (spec.most_bytes > 0) json["most_bytes"] = spec.most_bytes;
  return json;
}

CaseSpec case_spec_from_json(const Json& json) {
  CaseSpec spec;
  spec.experiment = json_string(json, "experiment", "");
  const Json& axes = json_member(json, "axes", "");
  if (!axes.is_object()) throw Error("/axes: expected an object");
  for (const auto& [name, value] : axes.items()) {
    if (!value.is_string()) throw Error("/axes/" + name + ": expected a string");
    spec.axes.emplace_back(name, value.get<std::string>());
  }
  spec.backend = json_string(json, "backend", "");
  spec.threads = json_integer<int>(json, "threads", "", 1);
  spec.caches = json_bool(json, "cold", "") ? Caches::kCold : Caches::kHot;
  spec.seed = json_integer<std::uint64_t>(json, "seed", "");
  if (json.contains("variant")) spec.variant = json_string(json, "variant", "");
  spec.keep_wrong = json.contains("keep_wrong") && json_bool(json, "keep_wrong", "");
  if (json.contains("most_bytes")) spec.most_bytes = json_integer<std::size_t>(json, "most_bytes", "");
  return spec;
}

Json to_json(const PrepareReply& reply) {
  switch (reply.outcome.kind) {
    case Outcome::Kind::kMeasured:
      return {{"outcome", "ready"}, {"info", to_json(reply.info)}};
    case Outcome::Kind::kSkipped:
      return {{"outcome", "skipped"}, {"reason", reply.outcome.reason}};
    case Outcome::Kind::kFailed:
      break;
  }
  return {{"outcome", "failed"}, {"reason", reply.outcome.reason}};
}

PrepareReply prepare_reply_from_json(const Json& json) {
  const std::string outcome = json_string(json, "outcome", "");
  if (outcome == "ready") return {{}, case_info(json_member(json, "info", ""))};
  const std::string reason = json_string(json, "reason", "");
  if (outcome == "skipped") return {{Outcome::Kind::kSkipped, reason}, {}};
  if (outcome == "failed") return {{Outcome::Kind::kFailed, reason}, {}};
  throw Error("/outcome: expected ready, skipped or failed, found " + outcome);
}

Json to_json(const SampleReply& reply) {
  if (!reply.failure.empty()) return {{"failed", reply.failure}};
  const SampleNoise& noise = reply.sample.noise;
  Json json{{"elapsed_ns", reply.sample.elapsed_ns},
            {"iterations", reply.sample.iterations},
            {"noise",
             {{"steal_ms", noise.steal_ms},
              {"switches", noise.involuntary_switches},
              {"faults", noise.page_faults},
              {"mhz", noise.frequency_mhz}}}};
  if (const DeviceNoise& device = reply.sample.device; device != DeviceNoise{}) {
    json["device"] = {{"sm_mhz", device.sm_mhz},
                      {"memory_mhz", device.memory_mhz},
                      {"power_w", device.power_w},
                      {"temperature_c", device.temperature_c},
                      {"throttle", device.throttle}};
  }
  if (!reply.sample.columns.empty()) json["columns"] = reply.sample.columns;
  return json;
}

SampleReply sample_reply_from_json(const Json& json) {
  if (json.is_object() && json.contains("failed")) return {{}, json_string(json, "failed", "")};
  const Json& noise = json_member(json, "noise", "");
  SampleReply reply;
  reply.sample.elapsed_ns = json_number(json, "elapsed_ns", "");
  reply.sample.iterations = json_integer<std::uint64_t>(json, "iterations", "", 1);
  reply.sample.noise.steal_ms = json_number(noise, "steal_ms", "/noise");
  reply.sample.noise.involuntary_switches = json_integer<std::uint32_t>(noise, "switches", "/noise");
  reply.sample.noise.page_faults = json_integer<std::uint32_t>(noise, "faults", "/noise");
  reply.sample.noise.frequency_mhz = json_number(noise, "mhz", "/noise");
  if (json.contains("device")) {
    const Json& device = json_member(json, "device", "");
    reply.sample.device = {
        json_number(device, "sm_mhz", "/device"), json_number(device, "memory_mhz", "/device"),
        json_number(device, "power_w", "/device"), json_number(device, "temperature_c", "/device"),
        json_integer<std::uint32_t>(device, "throttle", "/device")};
  }
  if (json.contains("columns")) reply.sample.columns = json_numbers(json, "columns", "");
  return reply;
}

Json to_json(const Conclusion& conclusion) {
  if (!conclusion.failure.empty()) return {{"failed", conclusion.failure}};
  Json series = Json::array();
  for (const ToldSeries& one : conclusion.series) {
    series.push_back(
        {{"name", one.name}, {"unit", one.unit}, {"values", one.values}, {"info", to_json(one.info)}});
  }
  return {{"notes", to_json(conclusion.notes)}, {"series", std::move(series)}};
}

Conclusion conclusion_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("conclusion")) return {};
  const Json& told = json_member(json, "conclusion", "");
  if (told.is_object() && told.contains("failed")) return {json_string(told, "failed", "/conclusion")};
  Conclusion conclusion{{}, string_map(told, "notes")};
  for (const Json& one : json_array(told, "series", "/conclusion")) {
    const std::string where = "/conclusion/series";
    conclusion.series.push_back({json_string(one, "name", where), json_string(one, "unit", where),
                                 json_numbers(one, "values", where), string_map(one, "info")});
  }
  return conclusion;
}

}  // namespace headroom
