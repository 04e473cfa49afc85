// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/samples_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/noise_columns.h"
#include "headroom/record/number_column.h"

namespace headroom::record_json {
namespace {

/// Numbers of a column that is worth a buffer of its own: those of a megabyte or so.
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

  /// The array as a column of its own. A short one gets its exact size, and the buffer keeps its memory for
  /// the next; a long one takes the buffer away, for a copy would need as much again.
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

}  // namespace

std::vector<ProcessSamples> read_samples(JsonStream& stream, const JsonPath& record) {
  return SamplesReader(stream, record).read();
}

}  // namespace headroom::record_json
