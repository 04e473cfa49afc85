// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "headroom/base/error.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/targets.h"

namespace headroom {
namespace {

[[noreturn]] void throw_not_a_number(const std::vector<double>&, const JsonPath& path) {
  path.refuse("expected a number");
}
[[noreturn]] void throw_not_a_number(const std::vector<std::uint32_t>&, const JsonPath& path) {
  path.refuse(
      fmt::format("expected a whole number from 0 up to {}", std::numeric_limits<std::uint32_t>::max()));
}

void append_null(std::vector<double>& column, const JsonPath&) {
  column.push_back(std::numeric_limits<double>::quiet_NaN());
}
void append_null(std::vector<std::uint32_t>& column, const JsonPath& path) {
  throw_not_a_number(column, path);
}

template <typename Number>
void read_column(JsonReader& stream, std::vector<Number>& column, const JsonPath& path) {
  if (stream.peek() != '[') path.refuse("expected an array");
  column.clear();
  stream.numbers(column, [&](std::string_view token) {
    if (token != "null") throw_not_a_number(column, path);
    append_null(column, path);
  });
}

}  // namespace

Json JsonCodec<Environment>::write(const Environment& environment) {
  Json json = Json::object();
  write_members(environment, json);
  return json;
}

Environment JsonCodec<Environment>::read(const Json& json, const JsonPath& path) {
  Environment environment = read_members<Environment>(json, path);
  if (!json.contains("options")) record_json::complete_old_environment(environment, path);
  record_json::complete_early_options(environment);
  return environment;
}

namespace {

struct NoteForm {
  NoteKind kind;
  const char* name;
  std::vector<const char*> numbers{};
};

const std::vector<NoteForm>& note_forms() {
  static const std::vector<NoteForm> kForms{
      {NoteKind::kText, "text"},
      {NoteKind::kSteal, "steal", {"stolen_ms", "total_ms"}},
      {NoteKind::kPreempted, "preempted", {"samples", "of"}},
      {NoteKind::kPageFaults, "page-faults", {"samples", "of"}},
      {NoteKind::kCpuClock, "cpu-clock", {"low_mhz", "high_mhz"}},
      {NoteKind::kDeviceClock, "device-clock", {"low_mhz", "high_mhz"}},
      {NoteKind::kDeviceMemoryClock, "device-memory-clock", {"low_mhz", "high_mhz"}},
      {NoteKind::kThrottled, "throttled", {"samples", "of"}},
      {NoteKind::kPlacement, "placement", {"low_ns", "high_ns"}},
      {NoteKind::kWarmUp, "warm-up", {"samples"}},
      {NoteKind::kProcessesDiffer, "processes-differ"},
      {NoteKind::kLimitUnstable, "limit-unstable"},
      {NoteKind::kAboveLimit, "above-limit", {"share"}},
      {NoteKind::kAboveUnstableLimit, "above-unstable-limit", {"share"}},
      {NoteKind::kOtherPages, "other-pages", {"share", "share_of_limit"}},
      {NoteKind::kTimeCap, "time-cap"},
      {NoteKind::kExactRounds, "as-many-as-asked"},
      {NoteKind::kBusy, "busy", {"busy_cpus", "cpus"}},
      {NoteKind::kQuota, "quota", {"held_s", "total_s"}},
      {NoteKind::kFailedRuns, "failed-runs", {"failed", "runs", "exit_code"}}};
  return kForms;
}

}  // namespace

Json JsonCodec<Note>::write(const Note& note) {
  const NoteForm& form = *std::ranges::find(note_forms(), note.kind, &NoteForm::kind);
  Json json{{"kind", form.name}};
  for (std::size_t i = 0; i < form.numbers.size(); ++i) json[form.numbers[i]] = note.numbers[i];
  if (!note.text.empty()) json["text"] = note.text;
  return json;
}

Note JsonCodec<Note>::read(const Json& json, const JsonPath& path) {
  if (json.is_string()) return record_json::note_of_sentence(json.string());
  std::vector<std::string_view> names;
  for (const NoteForm& form : note_forms()) names.emplace_back(form.name);
  const std::string where = path.text();
  const NoteForm& form =
      note_forms()[json_choice(json_member(json, "kind", where), JsonPath(path, "kind"), names)];
  Note note(form.kind, {}, json_string_or(json, "text", "", where));
  for (std::size_t i = 0; i < form.numbers.size(); ++i)
    note.numbers[i] = json_member_as<double>(json, form.numbers[i], where);
  return note;
}

bool JsonCodec<Note>::take(JsonCursor& cursor, Note& note) {
  const NoteForm* form = nullptr;
  std::bitset<3> found;
  const bool is_taken = cursor.take_members([&](std::string_view key) {
    if (key == "text") return json_take(cursor, note.text);
    if (key == "kind") {
      std::string_view name;
      if (form != nullptr || !cursor.take_string(name)) return false;
      const auto known =
          std::ranges::find_if(note_forms(), [&](const NoteForm& one) { return name == one.name; });
      if (known == note_forms().end()) return false;
      form = &*known;
      return true;
    }
    for (std::size_t i = 0; form != nullptr && i < form->numbers.size(); ++i) {
      if (key != form->numbers[i] || found[i]) continue;
      found.set(i);
      return cursor.take_number(note.numbers[i]);
    }
    return false;
  });
  if (!is_taken || form == nullptr || found.count() != form->numbers.size()) return false;
  note.kind = form->kind;
  return true;
}

const char* to_string(Instrument instrument) {
  static constexpr const char* kNames[] = {"run", "commands",    "cache", "dispatch",
                                           "ddp", "collectives", "trace", "import"};
  return kNames[static_cast<std::size_t>(instrument)];
}

const char* to_string(CounterScope scope) {
  static constexpr const char* kNames[] = {"unknown", "all", "user-space", "none"};
  return kNames[static_cast<std::size_t>(scope)];
}

const char* to_string(Look look) {
  return look == Look::kLast ? "last" : "running";
}

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
  static constexpr std::array kChoices{Direction::kLowerIsBetter, Direction::kHigherIsBetter,
                                       Direction::kUnknown};
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
      sparse("headline", &M::headline),     optional("extra_info", &M::extra_info),
      sparse("numbers", &M::numbers)};
};

/// A boolean or number as such, a size as {"bytes": N}, text as text. Text that looks like a number or
/// boolean becomes one, for schemas 1, 2 (numbers) and 1 to 4 (booleans), unless kTextAxes lists its axis.
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
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number())
      return {dump_json(json), json.is_number_integer() ? AxisType::kAsWritten : AxisType::kReal};
    if (json.is_object()) return AxisValue::Size{json_member_as<std::int64_t>(json, "bytes", path.text())};
    path.refuse("expected true, false, a number, a string, or a size as {\"bytes\": N}");
  }
  static bool take(JsonCursor& cursor, AxisValue& axis) {
    JsonCursor ahead = cursor;
    std::string_view text;
    bool truth = false;
    if (ahead.take_string(text)) {
      axis = AxisValue(std::string(text));
    } else if (ahead = cursor; ahead.take_bool(truth)) {
      axis = truth;
    } else {
      ahead = cursor;
      double number = 0;
      if (!ahead.take_number(number)) return false;
      std::uint64_t whole = 0;
      const bool is_whole = JsonCursor(cursor).take_whole(whole);
      axis = read(is_whole ? Json(whole) : Json(number), JsonPath(""));
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

/// The name is for readers; schemas 1 and 2 have only that.
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
  static constexpr std::tuple kTable{required("to", &R::other),      required("ratio", &R::ratio),
                                     optional("pairs", &R::pairs),   sparse("interval", &R::interval),
                                     sparse("backend", &R::backend), sparse("runner", &R::runner)};
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

template <>
struct JsonNames<Instrument> {
  static constexpr std::array kChoices{Instrument::kRun,      Instrument::kCommands, Instrument::kCache,
                                       Instrument::kDispatch, Instrument::kDdp,      Instrument::kCollectives,
                                       Instrument::kTrace,    Instrument::kImport};
};
template <>
struct JsonNames<Look> {
  static constexpr std::array kChoices{Look::kRunning, Look::kLast};
};

template <>
struct JsonMembers<Record::Slowest> {
  static constexpr std::tuple kTable{required("rank", &Record::Slowest::rank),
                                     required("share", &Record::Slowest::share)};
};

template <>
struct JsonMembers<Record> {
  static constexpr std::tuple kTable{optional("instrument", &Record::instrument),
                                     sparse("tool", &Record::tool),
                                     required("benchmark", &Record::benchmark),
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
                                     sparse("look", &Record::look),
                                     sparse("modes", &Record::modes),
                                     optional("stop", &Record::stop),
                                     optional("verified", &Record::verified),
                                     optional("max_error", &Record::max_error),
                                     sparse("error_bound", &Record::error_bound),
                                     sparse("sums_in", &Record::sums_in),
                                     sparse("kept_wrong", &Record::kept_wrong),
                                     sparse("busy_cpus", &Record::busy_cpus),
                                     sparse("huge_pages", &Record::huge_pages),
                                     sparse("slowest", &Record::slowest),
                                     sparse("note_values", &Record::notes)};
};

void read_number_column(JsonReader& stream, std::vector<double>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

void read_number_column(JsonReader& stream, std::vector<std::uint32_t>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

}  // namespace headroom

namespace headroom::record_json {
namespace {

/// Axes with texts that look like numbers or booleans.
constexpr const char* kTextAxes = "text_axes";

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

/// Fewest numbers for a buffer of their own (about 1 MB).
constexpr std::size_t kLongColumn = std::size_t{1} << 17;

template <typename Field>
void take_column(NoiseSeries& noise, Field SampleNoise::*field, std::vector<Field>& buffer) {
  noise.set_column(field, std::move(buffer));
}
template <typename Field>
void take_column(std::vector<DeviceNoise>& noise, Field DeviceNoise::*field, std::vector<Field>& buffer) {
  if (noise.size() < buffer.size()) noise.resize(buffer.size());
  for (std::size_t i = 0; i < buffer.size(); ++i) noise[i].*field = buffer[i];
}

class SamplesReader {
 public:
  SamplesReader(JsonReader& stream, const JsonPath& record) : stream_(stream), path_(record, "samples") {}

  std::vector<ProcessSamples> read() {
    require('[', path_, "an array");
    stream_.elements([this] {
      const JsonPath path(path_, samples_.size());
      require('{', path, "an object");
      read_process(samples_.emplace_back(), path);
    });
    return std::move(samples_);
  }

 private:
  void require(char first, const JsonPath& path, const char* what) {
    if (stream_.peek() != first) path.refuse(fmt::format("expected {}", what));
  }

  void read_process(ProcessSamples& process, const JsonPath& path) {
    bool has_values = false, has_noise = false, has_device = false;
    noise_columns_.clear();
    stream_.members([&](const std::string& key) {
      const JsonPath place(path, key);
      if (key == "values") {
        process.values = column(doubles_, place);
        has_values = true;
      } else if (key == "rounds" && stream_.peek() != 'n') {
        process.rounds = column(wholes_, place);
      } else if (key == "noise" && stream_.peek() != 'n') {
        has_noise = true;
        read_columns("noise", place, process.noise, kNoiseColumns);
      } else if (key == "device" && stream_.peek() != 'n') {
        has_device = true;
        read_columns("device", place, process.device, kDeviceColumns);
      } else if (key == "pid" || key == "iterations" || key == "warmup") {
        read_integer(key, place, process);
      } else {
        stream_.skip_value();
      }
    });
    if (!has_values) JsonPath(path, "values").refuse("missing; expected an array");
    check_lengths(process, path);
    if (has_noise) process.noise.resize(process.values.size());
    if (has_device) process.device.resize(process.values.size());
  }

  void read_integer(const std::string& key, const JsonPath& path, ProcessSamples& process) {
    const Json value = stream_.value();
    if (value.is_null()) return;
    if (key == "pid")
      process.pid = json_whole<std::int64_t>(value, path, std::numeric_limits<std::int64_t>::min());
    if (key == "iterations") process.iterations = json_to<std::uint64_t>(value, path);
    if (key == "warmup") process.warmup = json_to<std::size_t>(value, path);
  }

  void check_lengths(const ProcessSamples& process, const JsonPath& path) const {
    const std::size_t count = process.values.size();
    if (process.warmup > count) JsonPath(path, "warmup").refuse("exceeds the number of samples");
    const auto require_count = [&](std::size_t found, const JsonPath& place) {
      if (found != count) place.refuse(fmt::format("has {} values for {} samples", found, count));
    };
    if (!process.rounds.empty()) require_count(process.rounds.size(), JsonPath(path, "rounds"));
    for (const ReadColumn& read : noise_columns_)
      require_count(read.size, JsonPath(JsonPath(path, read.group), read.name));
  }

  /// Copies short columns, to reuse the buffer.
  template <typename Number>
  std::vector<Number> column(std::vector<Number>& buffer, const JsonPath& path) {
    read_number_column(stream_, buffer, path);
    if (buffer.size() < kLongColumn) return {buffer.begin(), buffer.end()};
    return std::exchange(buffer, {});
  }

  template <typename Noise, typename Field, typename Sample>
  void read_column(std::vector<Field>& buffer, Field Sample::*field, const JsonPath& path, Noise& noise) {
    read_number_column(stream_, buffer, path);
    noise_columns_.back().size = buffer.size();
    take_column(noise, field, buffer);
  }

  template <typename Noise, typename Columns>
  void read_columns(const char* group, const JsonPath& path, Noise& noise, const Columns& columns) {
    require('{', path, "an object");
    stream_.members([&](const std::string& key) {
      const auto take = [&](const auto& column) {
        if (key != column.first) return false;
        if (stream_.peek() == 'n') {
          stream_.skip_value();
          return true;
        }
        noise_columns_.push_back({group, column.first, 0});
        read_column(buffer_for(column.second), column.second, JsonPath(path, key), noise);
        return true;
      };
      const bool is_taken = std::apply([&](const auto&... column) { return (take(column) || ...); }, columns);
      if (!is_taken) stream_.skip_value();
    });
  }

  template <typename Sample>
  std::vector<double>& buffer_for(double Sample::*) {
    return doubles_;
  }
  template <typename Sample>
  std::vector<std::uint32_t>& buffer_for(std::uint32_t Sample::*) {
    return wholes_;
  }

  struct ReadColumn {
    const char* group;
    const char* name;
    std::size_t size;
  };

  JsonReader& stream_;
  JsonPath path_;
  std::vector<ProcessSamples> samples_;
  std::vector<ReadColumn> noise_columns_;
  std::vector<double> doubles_;
  std::vector<std::uint32_t> wholes_;
};

/// `record` must be new. Returns its environment's index.
std::optional<std::size_t> read_into(Record& record, JsonReader& stream, const JsonPath& path) {
  if (stream.peek() != '{') path.refuse("expected an object");
  RecordMembers members(record);
  std::optional<std::size_t> environment;
  Json rest = Json::object();
  stream.members([&](const std::string& key) {
    if (key == "samples" && stream.peek() != 'n') {
      record.samples = read_samples(stream, path);
    } else if (key == "environment") {
      environment.reset();
      rest.erase(key);
      if (!stream.take_in_buffer([&](JsonCursor& cursor) { return json_take(cursor, environment); }))
        rest[key] = stream.value();
    } else if (!members.take(stream, key)) {
      rest[key] = stream.value();
    }
  });
  members.finish(rest, path);
  if (const Json* place = rest.find("environment"))
    environment = json_to<std::optional<std::size_t>>(*place, JsonPath(path, "environment"));
  fail_if_unbounded(record, [&path] { return path.text(); });
  return environment;
}

constexpr std::size_t kEnoughToGuess = 100;

/// Builds JSON values only for complex members, never for samples.
class FileReader {
 public:
  FileReader(JsonReader& stream, const std::string& source)
      : stream_(stream), source_(source), root_(source + ": "), root_path_(root_) {}

  std::vector<Record> read() {
    if (stream_.peek() == '{') {
      stream_.members([this](const std::string& key) { read_member(key); });
    } else {
      stream_.skip_value();
    }
    stream_.finish();
    if (!has_header_) {
      throw Error(
          source_ +
          ": not a headroom file: it has no \"headroom\" member; write one with 'headroom run --json'");
    }
    if (!has_records_) throw Error(root_ + "/records: missing; expected an array");
    return with_environments();
  }

 private:
  void read_member(const std::string& key) {
    if (key == "headroom") {
      check_schema(stream_.value());
      has_header_ = true;
    } else if (key == "environments") {
      require_array(key);
      environments_.clear();
      stream_.elements([this] {
        const std::string where = fmt::format("{}/environments/{}", root_, environments_.size());
        environments_.push_back(
            std::make_shared<Environment>(json_to<Environment>(stream_.value(), JsonPath(where))));
      });
    } else if (key == "records") {
      require_array(key);
      has_records_ = true;
      records_.clear();
      places_.clear();
      const JsonPath path(root_path_, key);
      const std::uint64_t begin = stream_.offset();
      stream_.elements([&] {
        const std::size_t place = records_.size();
        reserve_records(stream_.offset() - begin);
        places_.push_back(read_into(records_.emplace_back(), stream_, JsonPath(path, place)));
      });
    } else {
      stream_.skip_value();
    }
  }

  /// Estimates from the `bytes` of the first records: doubling would hold most records twice.
  void reserve_records(std::uint64_t bytes) {
    const std::size_t count = records_.size();
    if (count < kEnoughToGuess || count < records_.capacity() || stream_.size() <= stream_.offset()) return;
    const double left = static_cast<double>(stream_.size() - stream_.offset()) / static_cast<double>(bytes);
    const auto guess = static_cast<std::size_t>((1.01 * left + 1) * static_cast<double>(count));
    records_.reserve(std::min(guess, 16 * count));
  }

  void require_array(const std::string& key) {
    if (stream_.peek() != '[') throw Error(fmt::format("{}/{}: expected an array", root_, key));
  }

  void check_schema(const Json& header) const {
    const std::string where = root_ + "/headroom";
    const int schema = json_member_as<int>(header, "schema", where);
    if (schema > kRecordSchema) {
      throw Error(
          fmt::format("{}: written in schema {} by headroom {}; this headroom reads schemas up to {}; use a "
                      "newer one",
                      source_, schema, json_string_or(header, "version", "(unknown)", where), kRecordSchema));
    }
    if (schema < 1) {
      throw Error(fmt::format("{}/schema: {} is not a schema; the first is 1", where, schema));
    }
  }

  std::vector<Record> with_environments() {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!places_[i]) continue;
      const std::size_t place = *places_[i];
      if (place >= environments_.size()) {
        throw Error(fmt::format("{}/records/{}/environment: is {}, but the file has {} environments", root_,
                                i, place, environments_.size()));
      }
      records_[i].environment = environments_[place];
    }
    return std::move(records_);
  }

  JsonReader& stream_;
  const std::string& source_;
  std::string root_;
  JsonPath root_path_;
  std::vector<std::shared_ptr<const Environment>> environments_;
  std::vector<Record> records_;
  std::vector<std::optional<std::size_t>> places_;  ///< environment indices; environments may follow later
  bool has_header_ = false, has_records_ = false;
};

}  // namespace

Json write_modes(const Modes& modes) {
  return json_of(modes);
}

Json write_record(const Record& record) {
  Json json = json_of(record);
  std::vector<std::string> text_axes;
  for (const auto& [name, value] : record.axes) {
    if (value.is_ambiguous_text()) text_axes.push_back(name);
  }
  if (!text_axes.empty()) json[kTextAxes] = text_axes;
  if (is_miscounted(record)) json["above_limit"] = true;
  json["notes"] = sentences(record.notes);
  Json samples = Json::array();
  for (const ProcessSamples& process : record.samples) samples.push_back(write_process(process));
  json["samples"] = std::move(samples);
  return json;
}

bool RecordMembers::take(JsonReader& stream, std::string_view key) {
  if (key == "instrument") is_current_ = true;
  if (key == "notes") {
    sentences_.clear();
    return stream.take_in_buffer([&](JsonCursor& cursor) { return json_take(cursor, sentences_); });
  }
  std::size_t place = 0;
  bool taken = false;
  const auto take_one = [&](const auto& member) {
    if (!member.is_named(key)) {
      ++place;
      return false;
    }
    // The last of duplicate members counts.
    if (taken_[place]) std::invoke(member.get, record_) = std::invoke(member.get, Record());
    taken = stream.take_in_buffer([&](JsonCursor& cursor) { return member.take(cursor, record_); });
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
  const auto text_axes = json_member_or<std::vector<std::string>>(rest, kTextAxes, {}, path.text());
  for (auto& [name, value] : record_.axes) {
    if (std::ranges::find(text_axes, name) != text_axes.end()) value = {value.text(), AxisType::kText};
  }
  // Redundant with the limit: is_miscounted().
  if (rest.contains("above_limit"))
    static_cast<void>(json_member_or<bool>(rest, "above_limit", false, path.text()));
  if (const Json* notes = rest.find("notes"); notes != nullptr && !notes->is_null())
    sentences_ = json_to<std::vector<std::string>>(*notes, JsonPath(path, "notes"));
  if (!is_current_) return complete_old_record(record_, sentences_);
  take_numbers_from_texts(record_);  // first files of schema 4
}

std::vector<ProcessSamples> read_samples(JsonReader& stream, const JsonPath& record) {
  return SamplesReader(stream, record).read();
}

StreamedRecord read_record(JsonReader& stream, const std::string& where) {
  StreamedRecord result;
  result.environment = read_into(result.record, stream, JsonPath(where));
  return result;
}

std::vector<Record> read_records(JsonReader& stream, const std::string& source) {
  return FileReader(stream, source).read();
}

}  // namespace headroom::record_json
