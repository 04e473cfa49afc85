// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/record/codec.h"
#include "headroom/record/json_fields.h"

namespace headroom::record_json {
namespace {

constexpr std::array kStopReasons{StopReason::kNone,       StopReason::kPrecision,   StopReason::kMaxTime,
                                  StopReason::kMaxSamples, StopReason::kInterrupted, StopReason::kRunnerLost};
constexpr std::array kOutcomes{Outcome::Kind::kMeasured, Outcome::Kind::kSkipped, Outcome::Kind::kFailed};
constexpr std::array kPrecisions{Precision::kBf16, Precision::kF16, Precision::kF32, Precision::kF64};
constexpr std::array kDirections{Direction::kLowerIsBetter, Direction::kHigherIsBetter};

/// The one of `choices` whose name the member holds.
template <typename Choices>
typename Choices::value_type read_choice(const Json& object, const char* key, const Choices& choices,
                                         const std::string& where) {
  const std::string text = json_string(object, key, where);
  std::string names;
  for (const auto choice : choices) {
    if (text == to_string(choice)) return choice;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", to_string(choice));
  }
  refuse(where, key, fmt::format("expected one of {}, found '{}'", names, text));
}

template <typename Noise, typename Field>
Json noise_column(const std::vector<Noise>& noise, Field Noise::*field) {
  Json column = Json::array();
  for (const Noise& sample : noise) column.push_back(sample.*field);
  return column;
}

Json write_process(const ProcessSamples& process) {
  Json json{{"pid", process.pid},
            {"iterations", process.iterations},
            {"warmup", process.warmup},
            {"values", process.values},
            {"rounds", process.rounds}};
  if (!process.noise.empty()) {
    json["noise"] = {
        {"steal_ms", noise_column(process.noise, &SampleNoise::steal_ms)},
        {"involuntary_switches", noise_column(process.noise, &SampleNoise::involuntary_switches)},
        {"page_faults", noise_column(process.noise, &SampleNoise::page_faults)},
        {"frequency_mhz", noise_column(process.noise, &SampleNoise::frequency_mhz)},
        {"placement_ns", noise_column(process.noise, &SampleNoise::placement_ns)}};
  }
  if (!process.device.empty()) {
    json["device"] = {{"sm_mhz", noise_column(process.device, &DeviceNoise::sm_mhz)},
                      {"memory_mhz", noise_column(process.device, &DeviceNoise::memory_mhz)},
                      {"power_w", noise_column(process.device, &DeviceNoise::power_w)},
                      {"temperature_c", noise_column(process.device, &DeviceNoise::temperature_c)},
                      {"throttle", noise_column(process.device, &DeviceNoise::throttle)}};
  }
  return json;
}

Json write_limit(const Limit& limit) {
  Json json{{"name", limit.name},
            {"value", limit.value},
            {"fraction", limit.fraction},
            {"unstable", limit.unstable}};
  if (limit.interval) json["interval"] = write_interval(*limit.interval);
  return json;
}

Limit read_limit(const Json& object, const std::string& where) {
  Limit limit;
  limit.name = json_string_or(object, "name", "", where);
  limit.value = number_or_nan(json_member(object, "value", where), where + "/value");
  limit.fraction = number_or_nan(json_member(object, "fraction", where), where + "/fraction");
  limit.unstable = read_bool_or(object, "unstable", false, where);
  if (const Json* interval = optional_member(object, "interval", where)) {
    limit.interval = read_interval(*interval, where + "/interval");
  }
  return limit;
}

Json write_metric(const Record::Metric& metric) {
  Json json{{"name", metric.name},
            {"unit", metric.unit},
            {"direction", to_string(metric.direction)},
            {"value", metric.value}};
  if (metric.target) json["target"] = *metric.target;
  json["extra_info"] = metric.extra_info;
  return json;
}

Record::Metric read_metric(const Json& object, const std::string& where) {
  Record::Metric metric;
  metric.name = json_string(object, "name", where);
  metric.unit = json_string_or(object, "unit", "", where);
  metric.direction = read_choice(object, "direction", kDirections, where);
  metric.value = number_or_nan(json_member(object, "value", where), where + "/value");
  if (optional_member(object, "target", where) != nullptr)
    metric.target = json_number(object, "target", where);
  metric.extra_info = read_string_map(object, "extra_info", where);
  return metric;
}

Record::Benchmark read_benchmark(const Json& object, const std::string& where) {
  return {json_string(object, "name", where), json_string_or(object, "mode", "", where),
          json_string_or(object, "dtype", "", where), read_string_map(object, "extra_info", where)};
}

Record::Model read_model(const Json& object, const std::string& where) {
  return {json_string(object, "name", where), json_string_or(object, "type", "", where),
          json_string_or(object, "backend", "", where), read_strings(object, "origins", where),
          read_string_map(object, "extra_info", where)};
}

AxisValues read_axes(const Json& object, const std::string& where) {
  AxisValues axes;
  const Json* member = optional_member(object, "axes", where);
  if (member == nullptr) return axes;
  if (!member->is_object()) refuse(where, "axes", "expected an object");
  for (const auto& [axis, value] : member->items()) {
    axes.emplace_back(axis, json_string(*member, axis.c_str(), where + "/axes"));
  }
  return axes;
}

}  // namespace

Json write_record(const Record& record) {
  Json axes = Json::object();
  for (const auto& [axis, value] : record.axes) axes[axis] = value;
  Json samples = Json::array();
  for (const ProcessSamples& process : record.samples) samples.push_back(write_process(process));

  Json json{{"benchmark",
             {{"name", record.benchmark.name},
              {"mode", record.benchmark.mode},
              {"dtype", record.benchmark.dtype},
              {"extra_info", record.benchmark.extra_info}}},
            {"model",
             {{"name", record.model.name},
              {"type", record.model.type},
              {"backend", record.model.backend},
              {"origins", record.model.origins},
              {"extra_info", record.model.extra_info}}},
            {"metric", write_metric(record.metric)},
            {"axes", std::move(axes)},
            {"device", record.device},
            {"runner", record.runner},
            {"caches", record.caches},
            {"threads", record.threads},
            {"outcome", {{"kind", to_string(record.outcome.kind)}, {"reason", record.outcome.reason}}}};
  if (record.interval) json["interval"] = write_interval(*record.interval);
  if (record.limit) json["limit"] = write_limit(*record.limit);
  json["stop"] = to_string(record.stop);
  json["verified"] = record.verified;
  json["max_error"] = record.max_error;
  if (record.error_bound != 0) json["error_bound"] = record.error_bound;
  if (record.sums_in) json["sums_in"] = to_string(*record.sums_in);
  if (record.kept_wrong) json["kept_wrong"] = true;
  json["notes"] = record.notes;
  json["samples"] = std::move(samples);
  return json;
}

Record read_record(const Json& object, const std::string& where) {
  Record record;
  record.benchmark = read_benchmark(json_member(object, "benchmark", where), where + "/benchmark");
  record.model = read_model(json_member(object, "model", where), where + "/model");
  record.metric = read_metric(json_member(object, "metric", where), where + "/metric");
  record.axes = read_axes(object, where);
  record.device = json_string_or(object, "device", "", where);
  record.runner = json_string_or(object, "runner", "", where);
  record.caches = json_string_or(object, "caches", "", where);
  record.threads = read_whole_member<int>(object, "threads", where);
  const Json& outcome = json_member(object, "outcome", where);
  record.outcome = {read_choice(outcome, "kind", kOutcomes, where + "/outcome"),
                    json_string_or(outcome, "reason", "", where + "/outcome")};
  if (const Json* interval = optional_member(object, "interval", where)) {
    record.interval = read_interval(*interval, where + "/interval");
  }
  if (const Json* limit = optional_member(object, "limit", where)) {
    record.limit = read_limit(*limit, where + "/limit");
  }
  if (optional_member(object, "stop", where) != nullptr) {
    record.stop = read_choice(object, "stop", kStopReasons, where);
  }
  record.verified = read_bool_or(object, "verified", false, where);
  if (const Json* error = optional_member(object, "max_error", where)) {
    record.max_error = number_or_nan(*error, where + "/max_error");
  }
  if (const Json* bound = optional_member(object, "error_bound", where)) {
    record.error_bound = number_or_nan(*bound, where + "/error_bound");
  }
  if (optional_member(object, "sums_in", where) != nullptr) {
    record.sums_in = read_choice(object, "sums_in", kPrecisions, where);
  }
  record.kept_wrong = read_bool_or(object, "kept_wrong", false, where);
  record.notes = read_strings(object, "notes", where);
  return record;
}

}  // namespace headroom::record_json
