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

class SamplesReader {
 public:
  SamplesReader(JsonStream& stream, const std::string& where) : stream_(stream), where_(where + "/samples") {}

  std::vector<ProcessSamples> read() {
    require('[', where_, "an array");
    stream_.elements([this] {
      path_ = fmt::format("{}/{}", where_, samples_.size());
      require('{', path_, "an object");
      read_process(samples_.emplace_back());
    });
    return std::move(samples_);
  }

 private:
  void require(char first, const std::string& path, const char* what) {
    if (stream_.peek() != first) throw Error(path + ": expected " + what);
  }

  void read_process(ProcessSamples& process) {
    bool has_values = false, has_noise = false, has_device = false;
    noise_columns_.clear();
    stream_.members([&](const std::string& key) {
      const std::string path = path_ + "/" + key;
      if (key == "values") {
        process.values = column(doubles_, path);
        has_values = true;
      } else if (key == "rounds" && stream_.peek() != 'n') {
        process.rounds = column(wholes_, path);
      } else if (key == "noise" && stream_.peek() != 'n') {
        has_noise = true;
        read_columns(path, process.noise, kNoiseColumns);
      } else if (key == "device" && stream_.peek() != 'n') {
        has_device = true;
        read_columns(path, process.device, kDeviceColumns);
      } else if (key == "pid" || key == "iterations" || key == "warmup") {
        read_whole_one(key, path, process);
      } else {
        stream_.skip_value();
      }
    });
    if (!has_values) throw Error(path_ + "/values: missing; expected an array");
    check_lengths(process);
    if (has_noise) process.noise.resize(process.values.size());
    if (has_device) process.device.resize(process.values.size());
  }

  void read_whole_one(const std::string& key, const std::string& path, ProcessSamples& process) {
    const Json value = stream_.value();
    if (value.is_null()) return;
    const JsonPath place(path);
    if (key == "pid")
      process.pid = json_whole<std::int64_t>(value, place, std::numeric_limits<std::int64_t>::min());
    if (key == "iterations") process.iterations = json_to<std::uint64_t>(value, place);
    if (key == "warmup") process.warmup = json_to<std::size_t>(value, place);
  }

  void check_lengths(const ProcessSamples& process) const {
    const std::size_t count = process.values.size();
    if (process.warmup > count) throw Error(path_ + "/warmup: is more than there are samples");
    const auto require_count = [&](std::size_t found, const std::string& name) {
      if (found == count) return;
      throw Error(fmt::format("{}/{}: has {} values where the samples are {}", path_, name, found, count));
    };
    if (!process.rounds.empty()) require_count(process.rounds.size(), "rounds");
    for (const auto& [name, size] : noise_columns_) require_count(size, name);
  }

  /// The array as a column of its own. A short one gets its exact size, and the buffer keeps its memory for
  /// the next; a long one takes the buffer away, for a copy would need as much again.
  template <typename Number>
  std::vector<Number> column(std::vector<Number>& buffer, const std::string& path) {
    read_number_column(stream_, buffer, path);
    if (buffer.size() < kLongColumn) return {buffer.begin(), buffer.end()};
    return std::exchange(buffer, {});
  }

  template <typename Noise, typename Field>
  void read_column(std::vector<Field>& buffer, Field Noise::*field, const std::string& path,
                   std::vector<Noise>& noise) {
    read_number_column(stream_, buffer, path);
    if (noise.size() < buffer.size()) noise.resize(buffer.size());
    for (std::size_t i = 0; i < buffer.size(); ++i) noise[i].*field = buffer[i];
    noise_columns_.emplace_back(path.substr(path_.size() + 1), buffer.size());
  }

  template <typename Noise, typename Columns>
  void read_columns(const std::string& where, std::vector<Noise>& noise, const Columns& columns) {
    require('{', where, "an object");
    stream_.members([&](const std::string& key) {
      bool is_taken = false;
      const auto take = [&](const auto& column) {
        if (is_taken || key != column.first || stream_.peek() == 'n') return;
        is_taken = true;
        if constexpr (std::is_same_v<decltype(column.second), double Noise::*>) {
          read_column(doubles_, column.second, where + "/" + key, noise);
        } else {
          read_column(wholes_, column.second, where + "/" + key, noise);
        }
      };
      std::apply([&](const auto&... column) { (take(column), ...); }, columns);
      if (!is_taken) stream_.skip_value();
    });
  }

  JsonStream& stream_;
  std::string where_;
  std::string path_;
  std::vector<ProcessSamples> samples_;
  std::vector<std::pair<std::string, std::size_t>> noise_columns_;  ///< of noise and device, by path
  std::vector<double> doubles_;
  std::vector<std::uint32_t> wholes_;
};

}  // namespace

std::vector<ProcessSamples> read_samples(JsonStream& stream, const std::string& where) {
  return SamplesReader(stream, where).read();
}

}  // namespace headroom::record_json
