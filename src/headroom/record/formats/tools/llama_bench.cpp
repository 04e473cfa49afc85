// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <algorithm>
#include <array>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

constexpr const char* kLlamaBench = "llama-bench";

/// Fields stored elsewhere in a record.
constexpr std::array kElsewhere{"build_commit", "build_number", "cpu_info", "gpu_info", "backends", "backend",
                                "model_type",   "n_threads",    "n_prompt", "n_gen",    "test_time"};

/// Unknown fields count as settings.
bool is_setting(std::string_view key) {
  return !key.ends_with("_ns") && !key.ends_with("_ts") &&
         std::ranges::find(kElsewhere, key) == kElsewhere.end();
}

std::string text_of(const Json& object, const char* key) {
  const Json* found = object.find(key);
  return found == nullptr || found->is_null() ? std::string() : plain_text(*found);
}

/// Settings of a file: axes differ between rows.
struct Settings {
  std::vector<std::string> axes;
  StringMap shared;
};

bool follows_from_model(const std::vector<JsonRow>& rows, const std::string& key) {
  std::map<std::string, std::string> of_model;
  return key.starts_with("model_") && std::ranges::all_of(rows, [&](const JsonRow& row) {
           const std::string value = text_of(row.object, key.c_str());
           return of_model.try_emplace(text_of(row.object, "model_type"), value).first->second == value;
         });
}

Settings read_settings(const std::vector<JsonRow>& rows) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> values;
  for (const JsonRow& row : rows) {
    if (!row.object.is_object()) throw Error(row.where + ": expected an object");
    for (const auto& [key, value] : row.object.items()) {
      std::string text = value.is_null() ? std::string() : plain_text(value);
      if (text.empty() || !is_setting(key)) continue;
      const auto [known, is_new] = values.try_emplace(key);
      if (is_new) keys.push_back(key);
      known->second.push_back(std::move(text));
    }
  }
  Settings settings;
  // Several builds repeat each case.
  const std::string build = text_of(rows.front().object, "build_commit");
  const bool one_build = std::ranges::all_of(
      rows, [&](const JsonRow& row) { return text_of(row.object, "build_commit") == build; });
  if (!one_build) settings.axes.emplace_back("build_commit");
  for (const std::string& key : keys) {
    const std::vector<std::string>& found = values.at(key);
    const bool same = std::ranges::all_of(found, [&](const std::string& value) { return value == found[0]; });
    if (same && (found.size() == rows.size() || is_neutral_setting(found[0]))) {
      settings.shared[key] = found[0];
    } else if (!follows_from_model(rows, key)) {
      settings.axes.push_back(key);
    }
  }
  return settings;
}

Environment environment_of_llama_bench(const Json& object, const StringMap& shared,
                                       const std::string& where) {
  Environment environment;
  environment.extra_info = shared;
  environment.timestamp = seconds_of_iso_time(text_of(object, "test_time"));
  environment.dependencies["llama.cpp"].sha = json_string(object, "build_commit", where);
  environment.dependencies["llama.cpp"].version = text_of(object, "build_number");
  Environment::Runner machine;
  machine.cpu_info = text_of(object, "cpu_info");
  machine.gpu_info = text_of(object, "gpu_info");
  environment.machines.push_back(machine);
  environment.fingerprint = imported_fingerprint(environment.machines);
  return environment;
}

Record read_case(const Json& object, const Settings& settings, const std::string& where) {
  Record record;
  record.benchmark.name = kLlamaBench;
  const std::string file = text_of(object, "model_filename");
  record.model.name = object.contains("model_type") ? json_string(object, "model_type", where) : file;
  record.model.type = "OSS model";
  record.model.backend = text_of(object, object.contains("backends") ? "backends" : "backend");
  record.model.extra_info = {{"model_filename", file}};
  record.benchmark.mode = "inference";
  record.threads = json_member_or<int>(object, "n_threads", 0, where);
  record.device = text_of(object, "gpu_info").empty() ? "cpu" : "gpu";
  for (const char* axis : {"n_prompt", "n_gen"}) record.axes.emplace_back(axis, text_of(object, axis));
  for (const std::string& key : settings.axes) {
    const std::string value = text_of(object, key.c_str());
    if (!value.empty()) record.axes.emplace_back(key, value);
  }
  return record;
}

std::vector<double> read_samples_ns(const Json& object, const std::string& where) {
  if (json_optional(object, "samples_ns", where) == nullptr) return {};
  return read_times(json_array(object, "samples_ns", where), where + "/samples_ns");
}

double rate_of(double tokens, double ns) {
  return 1e9 * tokens / ns;
}

void add_records(const Json& object, const Settings& settings, const std::string& where,
                 const std::shared_ptr<const Environment>& environment, std::vector<Record>& records) {
  const double tokens = finite_number(object, "n_prompt", where) + finite_number(object, "n_gen", where);
  const double average_ns = require_time(finite_number(object, "avg_ns", where), where + "/avg_ns");
  const std::vector<double> samples_ns = read_samples_ns(object, where);
  const Record base = read_case(object, settings, where);

  Record latency = base;
  latency.environment = environment;
  Record rate = latency;
  latency.metric.name = "latency";
  latency.metric.unit = "ns";
  rate.metric = {"token_per_sec", "tokens/s", Direction::kHigherIsBetter, 0, {}, {}, true};
  if (samples_ns.empty()) {
    set_value(latency, average_ns);
    set_value(rate, rate_of(tokens, average_ns));
  } else {
    std::vector<double> rates;
    rates.reserve(samples_ns.size());
    for (const double ns : samples_ns) rates.push_back(rate_of(tokens, ns));
    set_samples(latency, samples_ns);
    set_samples(rate, std::move(rates));
  }
  if (tokens > 0) {
    records.push_back(std::move(rate));
  } else {
    latency.metric.headline = true;
  }
  records.push_back(std::move(latency));
}

bool is_llama_bench(const FileOutline& outline) {
  return outline.has_all({"build_commit", "avg_ns"});
}

std::vector<Record> read_llama_bench(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  std::map<std::array<std::string, 4>, std::shared_ptr<const Environment>> environments;
  const std::vector<JsonRow> rows = parse_json_rows(text.view(), source);
  const Settings settings = read_settings(rows);
  for (const JsonRow& row : rows) {
    const auto [known, is_new] =
        environments.try_emplace({text_of(row.object, "build_commit"), text_of(row.object, "build_number"),
                                  text_of(row.object, "cpu_info"), text_of(row.object, "gpu_info")});
    if (is_new)
      known->second =
          std::make_shared<Environment>(environment_of_llama_bench(row.object, settings.shared, row.where));
    add_records(row.object, settings, row.where, known->second, records);
  }
  return records;
}

}  // namespace

/// llama-bench -o jsonl or -o json (read). Settings that differ between rows are axes, others in
/// Environment::extra_info.
Format llama_bench_format() {
  return {.name = "llama-bench",
          .summary = "JSON lines or JSON of llama-bench",
          .recognises = is_llama_bench,
          .read = read_llama_bench};
}

}  // namespace headroom
