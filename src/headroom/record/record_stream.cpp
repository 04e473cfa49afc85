// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

bool append(std::string_view token, std::vector<double>& column) {
  column.push_back(json_number_value(token));
  return true;
}

bool append(std::string_view token, std::vector<std::uint32_t>& column) {
  const auto whole = json_whole_number(token);
  if (!whole || *whole > std::numeric_limits<std::uint32_t>::max()) return false;
  column.push_back(static_cast<std::uint32_t>(*whole));
  return true;
}

/// Reads numbers, each followed by a comma and at most one space, or by the closing bracket.
template <typename Number>
const char* take_many(const char* at, const char* end, std::vector<Number>& column) {
  std::string_view last;
  while (at < end) {
    const char* stop = at + last.size();
    // The kernel often reports the same text for consecutive samples.
    const bool same = !last.empty() && last.size() < static_cast<std::size_t>(end - at) &&
                      std::memcmp(at, last.data(), last.size()) == 0 && (*stop == ',' || *stop == ']');
    if (same) {
      column.push_back(column.back());
    } else {
      stop = json_number_end(at);
      if (stop == nullptr || (*stop != ',' && *stop != ']')) break;
      last = {at, static_cast<std::size_t>(stop - at)};
      if (!append(last, column)) break;
    }
    if (*stop == ']') return stop;
    at = stop + (stop[1] == ' ' ? 2 : 1);
  }
  return at;
}

[[noreturn]] void no_number(const std::vector<double>&, const JsonPath& path) {
  path.refuse("expected a number");
}
[[noreturn]] void no_number(const std::vector<std::uint32_t>&, const JsonPath& path) {
  path.refuse(
      fmt::format("expected a whole number from 0 up to {}", std::numeric_limits<std::uint32_t>::max()));
}

void append_null(std::vector<double>& column, const JsonPath&) {
  column.push_back(std::numeric_limits<double>::quiet_NaN());
}
void append_null(std::vector<std::uint32_t>& column, const JsonPath& path) {
  no_number(column, path);
}

template <typename Number>
void read_column(JsonStream& stream, std::vector<Number>& column, const JsonPath& path) {
  if (stream.peek() != '[') path.refuse("expected an array");
  column.clear();
  stream.numbers([&column](const char* begin, const char* end) { return take_many(begin, end, column); },
                 [&](std::string_view token) {
                   if (token == "null") {
                     append_null(column, path);
                   } else if (token.empty() || !append(token, column)) {
                     no_number(column, path);
                   }
                 });
}

}  // namespace

void read_number_column(JsonStream& stream, std::vector<double>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

void read_number_column(JsonStream& stream, std::vector<std::uint32_t>& column, const JsonPath& path) {
  read_column(stream, column, path);
}

}  // namespace headroom

namespace headroom::record_json {
namespace {

/// Fewest numbers for a buffer of their own: about a megabyte.
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
  SamplesReader(JsonStream& stream, const JsonPath& record) : stream_(stream), path_(record, "samples") {}

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
        read_whole_one(key, place, process);
      } else {
        stream_.skip_value();
      }
    });
    if (!has_values) JsonPath(path, "values").refuse("missing; expected an array");
    check_lengths(process, path);
    if (has_noise) process.noise.resize(process.values.size());
    if (has_device) process.device.resize(process.values.size());
  }

  void read_whole_one(const std::string& key, const JsonPath& path, ProcessSamples& process) {
    const Json value = stream_.value();
    if (value.is_null()) return;
    if (key == "pid")
      process.pid = json_whole<std::int64_t>(value, path, std::numeric_limits<std::int64_t>::min());
    if (key == "iterations") process.iterations = json_to<std::uint64_t>(value, path);
    if (key == "warmup") process.warmup = json_to<std::size_t>(value, path);
  }

  void check_lengths(const ProcessSamples& process, const JsonPath& path) const {
    const std::size_t count = process.values.size();
    if (process.warmup > count) JsonPath(path, "warmup").refuse("is more than there are samples");
    const auto require_count = [&](std::size_t found, const JsonPath& place) {
      if (found != count) place.refuse(fmt::format("has {} values where the samples are {}", found, count));
    };
    if (!process.rounds.empty()) require_count(process.rounds.size(), JsonPath(path, "rounds"));
    for (const ReadColumn& read : noise_columns_)
      require_count(read.size, JsonPath(JsonPath(path, read.group), read.name));
  }

  /// Moves the array into a column. A short one is copied to its exact size and the buffer keeps its memory;
  /// a long one takes the buffer, as a copy would double the memory.
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

  /// A column of noise or device.
  struct ReadColumn {
    const char* group;
    const char* name;
    std::size_t size;
  };

  JsonStream& stream_;
  JsonPath path_;
  std::vector<ProcessSamples> samples_;
  std::vector<ReadColumn> noise_columns_;
  std::vector<double> doubles_;
  std::vector<std::uint32_t> wholes_;
};

/// Reads the next record of the stream into `record`, which must be new. Returns the index of its
/// environment.
std::optional<std::size_t> read_into(Record& record, JsonStream& stream, const JsonPath& path) {
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
      if (!stream.take_plainly([&](JsonCursor& cursor) { return json_take(cursor, environment); }))
        rest[key] = stream.value();
    } else if (!members.take(stream, key)) {
      rest[key] = stream.value();
    }
  });
  members.finish(rest, path);
  if (const Json* place = rest.find("environment"))
    environment = json_to<std::optional<std::size_t>>(*place, JsonPath(path, "environment"));
  return environment;
}

/// Records needed to estimate how many a file has.
constexpr std::size_t kEnoughToGuess = 100;

/// Reads the records of a file one by one. Builds JSON values only for members that are not plain, never for
/// samples.
class FileReader {
 public:
  FileReader(JsonStream& stream, const std::string& source)
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
        make_room(stream_.offset() - begin);
        places_.push_back(read_into(records_.emplace_back(), stream_, JsonPath(path, place)));
      });
    } else {
      stream_.skip_value();
    }
  }

  /// Reserves the estimated number of records, if the rest of the file is like the first ones, which took
  /// `bytes`. Doubling alone would hold most records twice at times.
  void make_room(std::uint64_t bytes) {
    const std::size_t count = records_.size();
    if (count < kEnoughToGuess || count < records_.capacity() || stream_.size() <= stream_.offset()) return;
    const double left = static_cast<double>(stream_.size() - stream_.offset()) / static_cast<double>(bytes);
    const auto guess = static_cast<std::size_t>((1.01 * left + 1) * static_cast<double>(count));
    // The rest may differ.
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
        throw Error(fmt::format("{}/records/{}/environment: is {} where the file has {} environments", root_,
                                i, place, environments_.size()));
      }
      records_[i].environment = environments_[place];
    }
    return std::move(records_);
  }

  JsonStream& stream_;
  const std::string& source_;
  std::string root_;
  JsonPath root_path_;
  std::vector<std::shared_ptr<const Environment>> environments_;
  std::vector<Record> records_;
  std::vector<std::optional<std::size_t>>
      places_;  ///< index of each record's environment, which may follow later in the file
  bool has_header_ = false, has_records_ = false;
};

}  // namespace

std::vector<ProcessSamples> read_samples(JsonStream& stream, const JsonPath& record) {
  return SamplesReader(stream, record).read();
}

StreamedRecord read_record(JsonStream& stream, const std::string& where) {
  StreamedRecord result;
  result.environment = read_into(result.record, stream, JsonPath(where));
  return result;
}

std::vector<Record> read_records(JsonStream& stream, const std::string& source) {
  return FileReader(stream, source).read();
}

}  // namespace headroom::record_json
