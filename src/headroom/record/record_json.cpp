// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_json.h"

#include <array>
#include <functional>

#include "headroom/base/json_codec.h"
#include "headroom/record/codec.h"
#include "headroom/record/noise_columns.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/outcome_json.h"
#include "headroom/record/target_verdict.h"

namespace headroom {

// The parts of a record, member by member: in this order they are written.

template <>
struct JsonNames<StopReason> {
  static constexpr std::array kChoices{StopReason::kNone,        StopReason::kPrecision,
                                       StopReason::kMaxTime,     StopReason::kMaxSamples,
                                       StopReason::kInterrupted, StopReason::kRunnerLost};
};
template <>
struct JsonNames<Precision> {
  static constexpr std::array kChoices = kPrecisions;
};
template <>
struct JsonNames<Direction> {
  static constexpr std::array kChoices{Direction::kLowerIsBetter, Direction::kHigherIsBetter};
};

template <>
struct JsonMembers<Record::Benchmark> {
  using B = Record::Benchmark;
  static constexpr std::tuple kTable{required("name", &B::name), optional("mode", &B::mode),
                                     optional("dtype", &B::dtype), optional("extra_info", &B::extra_info)};
};

template <>
struct JsonMembers<Record::Model> {
  using M = Record::Model;
  static constexpr std::tuple kTable{required("name", &M::name), optional("type", &M::type),
                                     optional("backend", &M::backend), optional("origins", &M::origins),
                                     optional("extra_info", &M::extra_info)};
};

template <>
struct JsonMembers<Record::Metric> {
  using M = Record::Metric;
  static constexpr std::tuple kTable{
      required("name", &M::name),           optional("unit", &M::unit),
      required("direction", &M::direction), or_nan("value", &M::value),
      sparse("target", &M::target),         sparse("target_share", &M::target_share),
      sparse("headline", &M::headline),     optional("extra_info", &M::extra_info)};
};

/// A number as such, a size as {"bytes": N}, a text as a text; in schemas 1 and 2 every value is a text.
template <>
struct JsonCodec<AxisValue> {
  static Json write(const AxisValue& axis) {
    const auto write_one = [](const auto& value) -> Json {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, AxisValue::Size>) {
        return {{"bytes", value.bytes}};
      } else {
        return value;
      }
    };
    return std::visit(write_one, axis.value());
  }
  static AxisValue read(const Json& json, const JsonPath& path) {
    if (json.is_string()) return json.string();
    if (json.is_number()) return dump_json(json);
    if (json.is_object()) return AxisValue::Size{json_member_as<std::int64_t>(json, "bytes", path.text())};
    path.refuse("expected a number, a text, or a size as {\"bytes\": N}");
  }
  static bool take(JsonCursor& cursor, AxisValue& axis) {
    JsonCursor ahead = cursor;
    std::string_view text;
    if (ahead.take_string(text)) {
      axis = AxisValue(std::string(text));
    } else {
      ahead = cursor;
      double number = 0;
      if (!ahead.take_number(number)) return false;
      std::uint64_t whole = 0;
      const bool is_whole = JsonCursor(cursor).take_whole(whole);
      axis = AxisValue(dump_json(is_whole ? Json(whole) : Json(number)));
    }
    cursor = ahead;
    return true;
  }
};

template <>
struct JsonMembers<Interval> {
  static constexpr std::tuple kTable{required("low", &Interval::low), required("high", &Interval::high),
                                     required("confidence", &Interval::confidence)};
};

template <>
struct JsonMembers<LimitPart> {
  static constexpr std::tuple kTable{required("kind", &LimitPart::kind), sparse("bytes", &LimitPart::bytes),
                                     sparse("pattern", &LimitPart::pattern),
                                     sparse("dtype", &LimitPart::dtype),
                                     sparse("threads", &LimitPart::threads)};
};

template <>
struct JsonMembers<Limit::Rounds> {
  using R = Limit::Rounds;
  static constexpr std::tuple kTable{optional("count", &R::count),
                                     required("lower_quartile", &R::lower_quartile),
                                     required("upper_quartile", &R::upper_quartile)};
};

template <>
struct JsonMembers<Limit> {
  static constexpr std::tuple kTable{
      optional("parts", &Limit::parts),     or_nan("value", &Limit::value),
      or_nan("fraction", &Limit::fraction), optional("unstable", &Limit::unstable),
      sparse("interval", &Limit::interval), sparse("rounds", &Limit::rounds)};
};

/// With its name for readers; schemas 1 and 2 have nothing else of it.
template <>
struct JsonCodec<Limit> {
  static Json write(const Limit& limit) {
    Json json{{"name", limit_name(limit)}};
    write_members(limit, json);
    return json;
  }
  static Limit read(const Json& json, const JsonPath& path) {
    Limit limit = read_members<Limit>(json, path);
    if (limit.parts.empty())
      limit.parts = record_json::limit_parts_of_name(json_string_or(json, "name", "", path.text()));
    return limit;
  }
  static bool take(JsonCursor& cursor, Limit& limit) {
    return take_members(cursor, limit) && !limit.parts.empty();
  }
};

template <>
struct JsonMembers<RatioToOther> {
  using R = RatioToOther;
  static constexpr std::tuple kTable{required("to", &R::other), required("ratio", &R::ratio),
                                     optional("pairs", &R::pairs), sparse("interval", &R::interval)};
};

template <>
struct JsonMembers<Mode> {
  static constexpr std::tuple kTable{required("median", &Mode::median), required("share", &Mode::share)};
};

template <>
struct JsonMembers<Modes> {
  static constexpr std::tuple kTable{required("groups", &Modes::groups), optional("changes", &Modes::changes),
                                     optional("in_stretches", &Modes::in_stretches)};
};

/// All but the samples and the environment.
template <>
struct JsonMembers<Record> {
  static constexpr std::tuple kTable{required("benchmark", &Record::benchmark),
                                     required("model", &Record::model),
                                     required("metric", &Record::metric),
                                     optional("axes", &Record::axes),
                                     optional("device", &Record::device),
                                     optional("runner", &Record::runner),
                                     optional("caches", &Record::caches),
                                     optional("threads", &Record::threads),
                                     required("outcome", &Record::outcome),
                                     sparse("interval", &Record::interval),
                                     sparse("limit", &Record::limit),
                                     sparse("ratio", &Record::ratio),
                                     sparse("modes", &Record::modes),
                                     optional("stop", &Record::stop),
                                     optional("verified", &Record::verified),
                                     optional("max_error", &Record::max_error),
                                     sparse("error_bound", &Record::error_bound),
                                     sparse("sums_in", &Record::sums_in),
                                     sparse("kept_wrong", &Record::kept_wrong),
                                     sparse("busy_cpus", &Record::busy_cpus),
                                     optional("notes", &Record::notes)};
};

namespace record_json {
namespace {

template <typename Field>
Field value_of(const NoiseSeries& noise, std::size_t index, Field SampleNoise::*field) {
  return noise.value(index, field);
}
template <typename Field>
Field value_of(const std::vector<DeviceNoise>& noise, std::size_t index, Field DeviceNoise::*field) {
  return noise[index].*field;
}

template <typename Noise, typename Columns>
Json write_columns(const Noise& noise, const Columns& columns) {
  Json json = Json::object();
  const auto write_one = [&](const auto& column) {
    Json values = Json::array();
    for (std::size_t i = 0; i < noise.size(); ++i) values.push_back(value_of(noise, i, column.second));
    json[column.first] = std::move(values);
  };
  std::apply([&](const auto&... column) { (write_one(column), ...); }, columns);
  return json;
}

Json write_process(const ProcessSamples& process) {
  Json json{{"pid", process.pid},
            {"iterations", process.iterations},
            {"warmup", process.warmup},
            {"values", process.values},
            {"rounds", process.rounds}};
  if (!process.noise.empty()) json["noise"] = write_columns(process.noise, kNoiseColumns);
  if (!process.device.empty()) json["device"] = write_columns(process.device, kDeviceColumns);
  return json;
}

}  // namespace

Json write_modes(const Modes& modes) {
  return json_of(modes);
}

Json write_record(const Record& record) {
  Json json = json_of(record);
  if (is_miscounted(record)) json["above_limit"] = true;
  Json samples = Json::array();
  for (const ProcessSamples& process : record.samples) samples.push_back(write_process(process));
  json["samples"] = std::move(samples);
  return json;
}

bool RecordMembers::take(JsonStream& stream, std::string_view key) {
  std::size_t place = 0;
  bool taken = false;
  const auto take_one = [&](const auto& member) {
    if (!member.is_named(key)) {
      ++place;
      return false;
    }
    // Of a member that is there twice the last counts.
    if (taken_[place]) std::invoke(member.get, record_) = std::invoke(member.get, Record());
    taken = stream.take_plainly([&](JsonCursor& cursor) { return member.take(cursor, record_); });
    if (!taken) std::invoke(member.get, record_) = std::invoke(member.get, Record());
    taken_[place] = taken;
    return true;
  };
  std::apply([&](const auto&... member) { static_cast<void>((take_one(member) || ...)); },
             JsonMembers<Record>::kTable);
  return taken;
}

void RecordMembers::finish(const Json& rest, const JsonPath& path) {
  std::size_t place = 0;
  const auto read_one = [&](const auto& member) {
    if (!taken_[place++]) member.read(rest, path, record_);
  };
  std::apply([&](const auto&... member) { (read_one(member), ...); }, JsonMembers<Record>::kTable);
  // What it says follows from the limit: is_miscounted().
  if (rest.contains("above_limit"))
    static_cast<void>(json_member_or<bool>(rest, "above_limit", false, path.text()));
  take_members_from_texts(record_);
}

}  // namespace record_json
}  // namespace headroom
