// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/files/compressed_file.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvbench = "nvbench";

/// By tag and name.
using Summaries = std::map<std::string, std::map<std::string, std::string>>;

struct Device {
  std::string name;
  std::string label;  ///< "cuda", or "cuda:1" if there are several
};

struct NvbenchFile {
  fs::path path;
  std::map<std::int64_t, Device> devices;
  std::shared_ptr<const Environment> environment;
};

/// Newer versions write all values as strings.
Summaries read_summaries(const Json& state, const std::string& where) {
  Summaries summaries;
  if (json_optional(state, "summaries", where) == nullptr) return summaries;
  std::size_t position = 0;
  for (const Json& summary : json_array(state, "summaries", where)) {
    const std::string path = fmt::format("{}/summaries/{}", where, position++);
    auto& data = summaries[json_string(summary, "tag", path)];
    if (json_optional(summary, "data", path) == nullptr) continue;
    for (const Json& item : json_array(summary, "data", path)) {
      data[json_string(item, "name", path + "/data")] =
          plain_text(json_member(item, "value", path + "/data"));
    }
  }
  return summaries;
}

/// nvbench omits unknown numbers or writes "nan" or "inf".
std::optional<double> number(const Summaries& summaries, const std::string& tag) {
  const auto summary = summaries.find(tag);
  if (summary == summaries.end()) return std::nullopt;
  const auto value = summary->second.find("value");
  return value == summary->second.end() ? std::nullopt : to_number(value->second);
}

std::optional<double> time_of(const Summaries& summaries, const std::string& tag, const std::string& where) {
  const std::optional<double> seconds = number(summaries, tag);
  if (seconds) require_time(*seconds, where + "/summaries/" + tag);
  return seconds;
}

/// Looks in the JSON file's folder: paths are relative to nvbench's working directory, and files are moved
/// together.
std::optional<fs::path> find_beside(const fs::path& json, const fs::path& named) {
  const fs::path folder = json.parent_path();
  std::vector<fs::path> candidates;
  if (named.is_relative()) candidates.push_back(folder / named);
  candidates.push_back(folder / named.parent_path().filename() / named.filename());
  candidates.push_back(fs::path(json.string() + "-bin") / named.filename());
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return std::nullopt;
}

std::vector<double> read_float32(const fs::path& path) {
  static_assert(std::endian::native == std::endian::little);
  const PaddedText bytes = read_compressed_file(path);
  if (bytes.size() % sizeof(float) != 0) {
    throw Error(fmt::format("{}: {} bytes is not a whole number of 4-byte samples; the file is truncated",
                            path.string(), bytes.size()));
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.view().data(), bytes.size());
  return {values.begin(), values.end()};
}

/// Returns none, and adds a note, if the file is missing.
std::vector<double> read_samples(const Summaries& summaries, std::string_view prefix, const fs::path& json,
                                 Notes& notes) {
  const auto summary = std::find_if(summaries.begin(), summaries.end(),
                                    [prefix](const auto& entry) { return entry.first.starts_with(prefix); });
  if (summary == summaries.end()) return {};
  const auto named = summary->second.find("filename");
  if (named == summary->second.end()) return {};
  const std::optional<fs::path> path = find_beside(json, named->second);
  if (!path) {
    notes.push_back("The samples are missing: " + quote(named->second) +
                    " is not in the folder of the JSON file.");
    return {};
  }
  std::vector<double> values = read_float32(*path);
  const auto size = summary->second.find("size");
  if (size != summary->second.end() && to_integer(size->second) != static_cast<std::int64_t>(values.size())) {
    throw Error(fmt::format("{}: holds {} samples, but {} says {}", path->string(), values.size(),
                            json.string(), size->second));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    require_time(values[i], fmt::format("{}: sample {}", path->string(), i));
  }
  return values;
}

Record read_case(const std::string& benchmark, const Json& state, const NvbenchFile& file,
                 const std::string& where) {
  Record record = headline_record(kNvbench, benchmark, "latency", "s");
  record.environment = file.environment;
  record.device = "cuda";
  if (json_optional(state, "device", where) != nullptr) {
    const auto id = json_member_as<std::int64_t>(state, "device", where);
    if (const auto device = file.devices.find(id); device != file.devices.end()) {
      record.device = device->second.label;
      record.benchmark.extra_info["arch"] = device->second.name;
    }
  }
  if (json_optional(state, "axis_values", where) == nullptr) return record;
  for (const Json& axis : json_array(state, "axis_values", where)) {
    const std::string path = where + "/axis_values";
    record.axes.emplace_back(json_string(axis, "name", path), plain_text(json_member(axis, "value", path)));
  }
  return record;
}

constexpr std::string_view kLaunches = "nv/cold", kCpuOnly = "nv/cpu_only";

bool is_cpu_only(const Summaries& summaries) {
  return std::ranges::any_of(summaries, [](const auto& entry) { return entry.first.starts_with(kCpuOnly); });
}

/// Prefers samples and GPU time.
void set_time(Record& record, const Summaries& summaries, std::string_view kind, const NvbenchFile& file,
              const std::string& where) {
  std::vector<double> samples =
      read_samples(summaries, fmt::format("nv/json/bin:{}/", kind), file.path, record.notes);
  if (!samples.empty()) return set_samples(record, std::move(samples));
  for (const char* name : {"gpu/median", "gpu/mean", "cpu/median", "cpu/mean"}) {
    const auto seconds = time_of(summaries, fmt::format("{}/time/{}", kind, name), where);
    if (!seconds) continue;
    if (kind == kLaunches && std::string_view(name).starts_with("cpu"))
      record.notes.emplace_back("CPU time, because there is no GPU time.");
    return set_value(record, *seconds);
  }
  record.outcome = {Outcome::Kind::kFailed, "the file holds no time for this state"};
}

void add_state(const std::string& benchmark, const Json& state, const NvbenchFile& file,
               const std::string& where, std::vector<Record>& records) {
  Record record = read_case(benchmark, state, file, where);
  if (json_member_or<bool>(state, "is_skipped", false, where)) {
    record.outcome = {Outcome::Kind::kSkipped,
                      json_string_or(state, "skip_reason", "nvbench skipped it", where)};
    records.push_back(std::move(record));
    return;
  }
  const Summaries summaries = read_summaries(state, where);
  const bool cpu_only = is_cpu_only(summaries);
  const std::string_view kind = cpu_only ? kCpuOnly : kLaunches;
  if (cpu_only) record.device = "cpu";
  const auto add_other = [&](const std::string& tag, const char* metric, const char* unit, double factor,
                             Direction direction) {
    const std::optional<double> value = number(summaries, tag);
    if (!value) return;
    Record other = tool_record(kNvbench, benchmark, metric, unit, direction);
    other.environment = record.environment;
    other.device = record.device;
    other.axes = record.axes;
    other.benchmark.extra_info = record.benchmark.extra_info;
    set_value(other, *value * factor);
    records.push_back(std::move(other));
  };
  set_time(record, summaries, kind, file, where);
  records.push_back(record);
  static_cast<void>(time_of(summaries, "nv/batch/time/gpu/mean", where));
  add_other("nv/batch/time/gpu/mean", "batch_latency", "s", 1, Direction::kLowerIsBetter);
  add_other(fmt::format("{}/bw/global/bytes_per_second", kind), "memory_bandwidth(GB/s)", "GB/s", 1e-9,
            Direction::kHigherIsBetter);
  add_other(fmt::format("{}/bw/item_rate", kind), "items_per_second", "1/s", 1, Direction::kHigherIsBetter);
}

NvbenchFile read_head(const Json& document, const std::string& source) {
  const std::string root = source + ": ";
  NvbenchFile file;
  file.path = source;
  auto environment = std::make_shared<Environment>();
  if (const Json* meta = json_optional(document, "meta", root)) {
    environment->command = json_member_or<std::vector<std::string>>(*meta, "argv", {}, root + "/meta");
    if (const Json* version = json_optional(*meta, "version", root + "/meta")) {
      for (const auto& [name, value] : plain_texts(*version))
        environment->extra_info[name + "_version"] = value;
    }
  }
  if (json_optional(document, "devices", root) != nullptr) {
    const Json& devices = json_array(document, "devices", root);
    for (const Json& device : devices) {
      const std::string where = root + "/devices";
      const auto id = json_member_or<std::int64_t>(device, "id", 0, where);
      file.devices[id] = {json_string_or(device, "name", "", where),
                          devices.size() == 1 ? "cuda" : fmt::format("cuda:{}", id)};
    }
    Environment::Runner machine;
    machine.gpu_count = static_cast<std::uint32_t>(devices.size());
    if (!file.devices.empty()) machine.gpu_info = file.devices.begin()->second.name;
    environment->machines.push_back(machine);
    environment->fingerprint = imported_fingerprint(environment->machines);
  }
  file.environment = environment;
  return file;
}

bool is_nvbench(const FileOutline& outline) {
  return outline.starts_with_object() && outline.has("benchmarks") && !outline.has("context") &&
         (outline.has("meta/version/nvbench") || outline.has_all({"benchmarks/states", "benchmarks/axes"}));
}

std::vector<Record> read_nvbench(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const NvbenchFile file = read_head(document, source);
  const std::string root = source + ": ";
  std::vector<Record> records;
  std::size_t position = 0;
  for (const Json& benchmark : json_array(document, "benchmarks", root)) {
    const std::string where = fmt::format("{}/benchmarks/{}", root, position++);
    const std::string name = json_string(benchmark, "name", where);
    std::size_t index = 0;
    for (const Json& state : json_array(benchmark, "states", where)) {
      add_state(name, state, file, fmt::format("{}/states/{}", where, index++), records);
    }
  }
  if (records.empty()) throw Error(root + "/benchmarks: holds no states; there is nothing to read");
  return records;
}

}  // namespace

/// nvbench's --json and --jsonbin (read). Without sample files, has nvbench's summaries and a note.
Format nvbench_format() {
  return {.name = "nvbench",
          .summary = "JSON of nvbench, with the samples that --jsonbin adds",
          .recognises = is_nvbench,
          .read = read_nvbench,
          .one_run = true};
}

}  // namespace headroom
