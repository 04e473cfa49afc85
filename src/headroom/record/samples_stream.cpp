// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/samples_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/record/json_fields.h"
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
        require('{', path, "an object");
        has_noise = true;
        stream_.members([&](const std::string& name) { read_noise(name, path, process.noise); });
      } else if (key == "device" && stream_.peek() != 'n') {
        require('{', path, "an object");
        has_device = true;
        stream_.members([&](const std::string& name) { read_device(name, path, process.device); });
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
    if (key == "pid") process.pid = read_whole<std::int64_t>(value, path);
    if (key == "iterations") process.iterations = read_whole<std::uint64_t>(value, path);
    if (key == "warmup") process.warmup = read_whole<std::size_t>(value, path);
  }

  void check_lengths(const ProcessSamples& process) const {
    const std::size_t count = process.values.size();
    if (process.warmup > count) refuse(path_, "warmup", "is more than there are samples");
    const auto require_count = [&](std::size_t found, const std::string& name) {
      if (found == count) return;
      refuse(path_, name.c_str(), fmt::format("has {} values where the samples are {}", found, count));
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

  void read_noise(const std::string& key, const std::string& where, std::vector<SampleNoise>& noise) {
    const std::string path = where + "/" + key;
    if (stream_.peek() == 'n') {
      stream_.skip_value();
    } else if (key == "steal_ms") {
      read_column(doubles_, &SampleNoise::steal_ms, path, noise);
    } else if (key == "involuntary_switches") {
      read_column(wholes_, &SampleNoise::involuntary_switches, path, noise);
    } else if (key == "page_faults") {
      read_column(wholes_, &SampleNoise::page_faults, path, noise);
    } else if (key == "frequency_mhz") {
      read_column(doubles_, &SampleNoise::frequency_mhz, path, noise);
    } else if (key == "placement_ns") {
      read_column(doubles_, &SampleNoise::placement_ns, path, noise);
    } else {
      stream_.skip_value();
    }
  }

  void read_device(const std::string& key, const std::string& where, std::vector<DeviceNoise>& device) {
    const std::string path = where + "/" + key;
    if (stream_.peek() == 'n') {
      stream_.skip_value();
    } else if (key == "sm_mhz") {
      read_column(doubles_, &DeviceNoise::sm_mhz, path, device);
    } else if (key == "memory_mhz") {
      read_column(doubles_, &DeviceNoise::memory_mhz, path, device);
    } else if (key == "power_w") {
      read_column(doubles_, &DeviceNoise::power_w, path, device);
    } else if (key == "temperature_c") {
      read_column(doubles_, &DeviceNoise::temperature_c, path, device);
    } else if (key == "throttle") {
      read_column(wholes_, &DeviceNoise::throttle, path, device);
    } else {
      stream_.skip_value();
    }
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
