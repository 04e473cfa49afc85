// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/targets.h"

namespace headroom::record_json {
namespace {

/// Removes the text of that name from the map and returns it; empty if absent.
std::string taken(StringMap& map, const char* key) {
  const auto node = map.extract(key);
  return node.empty() ? std::string() : node.mapped();
}

/// Parses "0.81 0.93"; empty if one of them is not a number.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : split(text, ' ')) {
    const auto number = to_number(word);
    if (!number || !std::isfinite(*number)) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

void take_ratio(StringMap& texts, Record& record) {
  const auto ratio = to_number(taken(texts, "ratio"));
  const auto low = to_number(taken(texts, "ratio_low")), high = to_number(taken(texts, "ratio_high"));
  const auto pairs = to_integer(taken(texts, "ratio_pairs"));
  const std::string other = taken(texts, "ratio_to");
  if (!ratio || other.empty()) return;
  record.ratio =
      RatioToOther{*ratio, {}, static_cast<std::size_t>(std::max<std::int64_t>(0, pairs.value_or(0))), other};
  if (low && high) record.ratio->interval = Interval{*low, *high, 0.95};
}

void take_modes(StringMap& texts, Record& record) {
  const std::vector<double> medians = numbers_of(taken(texts, "modes"));
  const std::vector<double> shares = numbers_of(taken(texts, "mode_shares"));
  const bool in_stretches = taken(texts, "mode_order") == "stretches";
  if (medians.size() != shares.size()) return;
  for (std::size_t i = 0; i < medians.size(); ++i) record.modes.groups.push_back({medians[i], shares[i]});
  record.modes.in_stretches = in_stretches;
}

void take_rounds(StringMap& texts, Record& record) {
  const std::vector<double> quartiles = numbers_of(taken(texts, "of_limit_quartiles"));
  const auto count = to_integer(taken(texts, "of_limit_rounds"));
  if (record.limit && quartiles.size() == 2 && count.value_or(0) > 0)
    record.limit->rounds = Limit::Rounds{static_cast<std::size_t>(*count), quartiles[0], quartiles[1]};
}

/// Rounds to whole bytes: "8.58 MiB" was rounded when written.
std::optional<std::int64_t> size_of(const std::string& number, const std::string& unit) {
  const auto amount = to_number(number);
  if (!amount || !(*amount > 0) || *amount > 1e12) return std::nullopt;
  try {
    return static_cast<std::int64_t>(std::llround(*amount * static_cast<double>(parse_bytes("1" + unit))));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<LimitPart> part_of(const std::string& text, int threads) {
  const std::vector<std::string> words = split(text, ' ');
  LimitPart part;
  part.kind = words.front();
  part.threads = threads;
  if (words.size() == 3 && part.kind == "peak") {
    part.dtype = words[1];
    part.pattern = words[2];
    return part;
  }
  const auto bytes = words.size() == 4 ? size_of(words[1], words[2]) : std::nullopt;
  if (!bytes) return std::nullopt;
  part.bytes = *bytes;
  part.pattern = words[3];
  return part;
}

/// `ddp` wrote its bucket size as text: "25 MiB".
void take_bucket_size(Record& record) {
  for (auto& [name, value] : record.axes) {
    const std::vector<std::string> words = split(value.text(), ' ');
    const auto bytes = name == "bucket" && words.size() == 2 ? size_of(words[0], words[1]) : std::nullopt;
    if (!bytes) continue;
    name = "bucket_size";
    value = fmt::format("{}", static_cast<double>(*bytes) / (1 << 20));
  }
}

/// "busy: 1.5 of 2 CPUs were at work for other programs before measuring".
void take_busy_cpus(Record& record) {
  constexpr std::string_view kBusy = "busy: ";
  for (const std::string& note : record.notes) {
    if (!note.starts_with(kBusy)) continue;
    record.busy_cpus = to_number(split(note.substr(kBusy.size()), ' ').front()).value_or(0);
  }
}

}  // namespace

void take_members_from_texts(Record& record) {
  if (record.benchmark.name == "ddp") take_bucket_size(record);
  if (record.busy_cpus == 0) take_busy_cpus(record);
  StringMap& texts = record.metric.extra_info;
  if (texts.empty()) return;
  if (taken(texts, "headline") == "true") record.metric.headline = true;
  if (const auto share = to_number(taken(texts, "target_share"))) record.metric.target_share = *share;
  if (texts.contains("ratio")) take_ratio(texts, record);
  if (texts.contains("modes")) take_modes(texts, record);
  if (texts.contains("of_limit_quartiles")) take_rounds(texts, record);
}

StringMap texts_of_members(const Record& record) {
  StringMap texts;
  if (record.metric.headline) texts["headline"] = "true";
  if (record.metric.target_share) texts["target_share"] = fmt::format("{}", *record.metric.target_share);
  if (record.ratio) {
    texts["ratio"] = fmt::format("{}", record.ratio->ratio);
    texts["ratio_pairs"] = std::to_string(record.ratio->pairs);
    texts["ratio_to"] = record.ratio->other;
    if (record.ratio->interval) {
      texts["ratio_low"] = fmt::format("{}", record.ratio->interval->low);
      texts["ratio_high"] = fmt::format("{}", record.ratio->interval->high);
    }
  }
  if (!record.modes.groups.empty()) {
    std::vector<std::string> medians, shares;
    for (const Mode& group : record.modes.groups) {
      medians.push_back(fmt::format("{}", group.median));
      shares.push_back(fmt::format("{}", group.share));
    }
    texts["modes"] = join(medians, " ");
    texts["mode_shares"] = join(shares, " ");
    texts["mode_order"] = record.modes.in_stretches ? "stretches" : "mixed";
  }
  if (record.limit && record.limit->rounds) {
    const Limit::Rounds& rounds = *record.limit->rounds;
    texts["of_limit_quartiles"] = fmt::format("{} {}", rounds.lower_quartile, rounds.upper_quartile);
    texts["of_limit_rounds"] = std::to_string(rounds.count);
  }
  return texts;
}

std::vector<LimitPart> limit_parts_of_name(std::string_view name) {
  const std::size_t comma = name.find(", ");
  int threads = 0;
  if (comma != std::string_view::npos) {
    const auto count = to_integer(split(std::string(name.substr(comma + 2)), ' ').front());
    threads = static_cast<int>(std::clamp<std::int64_t>(count.value_or(0), 0, 1 << 20));
  }
  std::vector<LimitPart> parts;
  std::string rest(name.substr(0, comma));
  while (true) {
    const std::size_t plus = rest.find(" + ");
    const std::optional<LimitPart> part = part_of(rest.substr(0, plus), threads);
    if (!part) return {};
    parts.push_back(*part);
    if (plus == std::string::npos) return parts;
    rest.erase(0, plus + 3);
  }
}

}  // namespace headroom::record_json

namespace headroom {

// The parts of a record in the order written.

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

/// A number as such, a size as {"bytes": N}, text as text. In schemas 1 and 2 all values are text.
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

/// Includes the name for readers; schemas 1 and 2 have only that.
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

/// All members but the samples and the environment.
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
    // Of duplicate members the last counts.
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
  // Follows from the limit: is_miscounted().
  if (rest.contains("above_limit"))
    static_cast<void>(json_member_or<bool>(rest, "above_limit", false, path.text()));
  take_members_from_texts(record_);
}

}  // namespace record_json

}  // namespace headroom
