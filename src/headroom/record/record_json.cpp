// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/record/codec.h"
#include "headroom/record/json_fields.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/target_verdict.h"

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
  Json parts = Json::array();
  for (const LimitPart& part : limit.parts) {
    Json one{{"kind", part.kind}};
    if (part.bytes > 0) one["bytes"] = part.bytes;
    if (!part.pattern.empty()) one["pattern"] = part.pattern;
    if (!part.dtype.empty()) one["dtype"] = part.dtype;
    if (part.threads > 0) one["threads"] = part.threads;
    parts.push_back(std::move(one));
  }
  Json json{{"name", limit_name(limit)},
            {"parts", std::move(parts)},
            {"value", limit.value},
            {"fraction", limit.fraction},
            {"unstable", limit.unstable}};
  if (limit.interval) json["interval"] = write_interval(*limit.interval);
  if (limit.rounds) {
    json["rounds"] = {{"count", limit.rounds->count},
                      {"lower_quartile", limit.rounds->lower_quartile},
                      {"upper_quartile", limit.rounds->upper_quartile}};
  }
  return json;
}

LimitPart read_limit_part(const Json& object, const std::string& where) {
  return {json_string(object, "kind", where), read_count_member<std::int64_t>(object, "bytes", where),
          json_string_or(object, "pattern", "", where), json_string_or(object, "dtype", "", where),
          read_count_member<int>(object, "threads", where)};
}

Limit::Rounds read_limit_rounds(const Json& object, const std::string& where) {
  return {read_whole_member<std::size_t>(object, "count", where),
          json_number(object, "lower_quartile", where), json_number(object, "upper_quartile", where)};
}

Limit read_limit(const Json& object, const std::string& where) {
  Limit limit;
  if (optional_member(object, "parts", where) != nullptr) {
    const Json& parts = json_array(object, "parts", where);
    for (std::size_t i = 0; i < parts.size(); ++i)
      limit.parts.push_back(read_limit_part(parts[i], fmt::format("{}/parts/{}", where, i)));
  } else {
    limit.parts = limit_parts_of_name(json_string_or(object, "name", "", where));
  }
  if (const Json* rounds = optional_member(object, "rounds", where))
    limit.rounds = read_limit_rounds(*rounds, where + "/rounds");
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
  if (metric.target_share) json["target_share"] = *metric.target_share;
  if (metric.headline) json["headline"] = true;
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
  if (optional_member(object, "target_share", where) != nullptr)
    metric.target_share = json_number(object, "target_share", where);
  metric.headline = read_bool_or(object, "headline", false, where);
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

/// A number as such, a size as {"bytes": N}, a text as a text.
Json write_axis_value(const AxisValue& axis) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, AxisValue::Size>) {
          return {{"bytes", value.bytes}};
        } else {
          return value;
        }
      },
      axis.value());
}

/// Also of schemas 1 and 2, where every value is a text.
AxisValue read_axis_value(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return dump_json(value);
  if (value.is_object())
    return AxisValue::Size{
        read_whole<std::int64_t>(json_member(value, "bytes", where), where + "/bytes", false)};
  throw Error(where + ": expected a number, a text, or a size as {\"bytes\": N}");
}

AxisValues read_axes(const Json& object, const std::string& where) {
  AxisValues axes;
  const Json* member = optional_member(object, "axes", where);
  if (member == nullptr) return axes;
  if (!member->is_object()) refuse(where, "axes", "expected an object");
  for (const auto& [axis, value] : member->items()) {
    axes.emplace_back(axis, read_axis_value(value, fmt::format("{}/axes/{}", where, axis)));
  }
  return axes;
}

Json write_ratio(const RatioToOther& ratio) {
  Json json{{"to", ratio.other}, {"ratio", ratio.ratio}, {"pairs", ratio.pairs}};
  if (ratio.interval) json["interval"] = write_interval(*ratio.interval);
  return json;
}

RatioToOther read_ratio(const Json& object, const std::string& where) {
  RatioToOther ratio;
  ratio.ratio = json_number(object, "ratio", where);
  ratio.pairs = read_whole_member<std::size_t>(object, "pairs", where);
  ratio.other = json_string(object, "to", where);
  if (const Json* interval = optional_member(object, "interval", where))
    ratio.interval = read_interval(*interval, where + "/interval");
  return ratio;
}

Modes read_modes(const Json& object, const std::string& where) {
  Modes modes;
  for (const Json& group : json_array(object, "groups", where)) {
    const std::string path = fmt::format("{}/groups/{}", where, modes.groups.size());
    modes.groups.push_back({json_number(group, "median", path), json_number(group, "share", path)});
  }
  modes.changes = read_whole_member<std::size_t>(object, "changes", where);
  modes.in_stretches = read_bool_or(object, "in_stretches", false, where);
  return modes;
}

}  // namespace

Json write_modes(const Modes& modes) {
  Json groups = Json::array();
  for (const Mode& group : modes.groups) groups.push_back({{"median", group.median}, {"share", group.share}});
  return {{"groups", std::move(groups)}, {"changes", modes.changes}, {"in_stretches", modes.in_stretches}};
}

Json write_record(const Record& record) {
  Json axes = Json::object();
  for (const auto& [axis, value] : record.axes) axes[axis] = write_axis_value(value);
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
  if (record.ratio) json["ratio"] = write_ratio(*record.ratio);
  if (!record.modes.groups.empty()) json["modes"] = write_modes(record.modes);
  json["stop"] = to_string(record.stop);
  json["verified"] = record.verified;
  json["max_error"] = record.max_error;
  if (record.error_bound != 0) json["error_bound"] = record.error_bound;
  if (record.sums_in) json["sums_in"] = to_string(*record.sums_in);
  if (record.kept_wrong) json["kept_wrong"] = true;
  if (is_miscounted(record)) json["above_limit"] = true;
  if (record.busy_cpus > 0) json["busy_cpus"] = record.busy_cpus;
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
  record.threads = read_count_member<int>(object, "threads", where);
  const Json& outcome = json_member(object, "outcome", where);
  record.outcome = {read_choice(outcome, "kind", kOutcomes, where + "/outcome"),
                    json_string_or(outcome, "reason", "", where + "/outcome")};
  if (const Json* interval = optional_member(object, "interval", where)) {
    record.interval = read_interval(*interval, where + "/interval");
  }
  if (const Json* limit = optional_member(object, "limit", where)) {
    record.limit = read_limit(*limit, where + "/limit");
  }
  if (const Json* ratio = optional_member(object, "ratio", where))
    record.ratio = read_ratio(*ratio, where + "/ratio");
  if (const Json* modes = optional_member(object, "modes", where))
    record.modes = read_modes(*modes, where + "/modes");
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
  // What it says follows from the limit: is_miscounted().
  static_cast<void>(read_bool_or(object, "above_limit", false, where));
  if (optional_member(object, "busy_cpus", where) != nullptr)
    record.busy_cpus = json_number(object, "busy_cpus", where);
  record.notes = read_strings(object, "notes", where);
  take_members_from_texts(record);
  return record;
}

}  // namespace headroom::record_json
