// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

constexpr const char* kTool = "llama-bench";

/// Parameters of a test with their defaults. A case is named by those that differ.
constexpr std::array<std::pair<const char*, const char*>, 16> kAxes{{{"n_depth", "0"},
                                                                     {"n_batch", "2048"},
                                                                     {"n_ubatch", "512"},
                                                                     {"type_k", "f16"},
                                                                     {"type_v", "f16"},
                                                                     {"n_gpu_layers", "99"},
                                                                     {"split_mode", "layer"},
                                                                     {"main_gpu", "0"},
                                                                     {"no_kv_offload", "false"},
                                                                     {"flash_attn", "false"},
                                                                     {"tensor_split", "0.00"},
                                                                     {"use_mmap", "true"},
                                                                     {"embeddings", "false"},
                                                                     {"cpu_mask", "0x0"},
                                                                     {"cpu_strict", "false"},
                                                                     {"poll", "50"}}};

std::string text_of(const Json& object, const char* key) {
  const Json* found = object.find(key);
  return found == nullptr || found->is_null() ? std::string() : plain_text(*found);
}

Environment read_environment(const Json& object, const std::string& where) {
  Environment environment;
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

/// Reads everything but the numbers of a row.
Record read_case(const Json& object, const std::string& where) {
  Record record;
  record.benchmark.name = kTool;
  const std::string file = text_of(object, "model_filename");
  record.model.name = object.contains("model_type") ? json_string(object, "model_type", where) : file;
  record.model.type = "OSS model";
  record.model.backend = text_of(object, object.contains("backends") ? "backends" : "backend");
  record.model.extra_info = {{"model_filename", file}};
  record.benchmark.mode = "inference";
  record.threads = json_member_or<int>(object, "n_threads", 0, where);
  record.device = text_of(object, "gpu_info").empty() ? "cpu" : "gpu";
  for (const char* axis : {"n_prompt", "n_gen"}) record.axes.emplace_back(axis, text_of(object, axis));
  for (const auto& [axis, usual] : kAxes) {
    const std::string value = text_of(object, axis);
    if (!value.empty() && value != usual) record.axes.emplace_back(axis, value);
  }
  return record;
}

std::vector<double> read_samples_ns(const Json& object, const std::string& where) {
  if (json_optional(object, "samples_ns", where) == nullptr) return {};
  return read_times(json_array(object, "samples_ns", where), where + "/samples_ns");
}

/// Returns tokens per second.
double rate_of(double tokens, double ns, const std::string& where) {
  const double rate = 1e9 * tokens / ns;
  if (!std::isfinite(rate))
    throw Error(fmt::format("{}: {:g} tokens in {:g} ns are no rate", where, tokens, ns));
  return rate;
}

void add_records(const Json& object, const std::string& where,
                 const std::shared_ptr<const Environment>& environment, std::vector<Record>& records) {
  const double tokens = json_number(object, "n_prompt", where) + json_number(object, "n_gen", where);
  const double average_ns = require_time(finite_number(object, "avg_ns", where), where + "/avg_ns");
  const std::vector<double> samples_ns = read_samples_ns(object, where);
  const Record base = read_case(object, where);

  Record latency = base;
  latency.environment = environment;
  Record rate = latency;
  latency.metric.name = "latency";
  latency.metric.unit = "ns";
  rate.metric = {"token_per_sec", "tokens/s", Direction::kHigherIsBetter, 0, {}, {}, true};
  if (samples_ns.empty()) {
    set_value(latency, average_ns);
    set_value(rate, rate_of(tokens, average_ns, where));
  } else {
    std::vector<double> rates;
    rates.reserve(samples_ns.size());
    for (const double ns : samples_ns) rates.push_back(rate_of(tokens, ns, where));
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

bool recognises(std::string_view text) {
  return holds_keys(text, {"build_commit", "avg_ns"});
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  // Rows repeat the machine; those that differ only in the time of the test share an environment.
  std::map<std::array<std::string, 4>, std::shared_ptr<const Environment>> environments;
  for (const JsonRow& row : parse_json_rows(text.view(), source)) {
    if (!row.object.is_object()) throw Error(row.where + ": expected an object");
    const auto [known, is_new] =
        environments.try_emplace({text_of(row.object, "build_commit"), text_of(row.object, "build_number"),
                                  text_of(row.object, "cpu_info"), text_of(row.object, "gpu_info")});
    if (is_new) known->second = std::make_shared<Environment>(read_environment(row.object, row.where));
    add_records(row.object, row.where, known->second, records);
  }
  return records;
}

}  // namespace

/// Output of llama-bench -o jsonl or -o json (read).
Format llama_bench_format() {
  return {.name = "llama-bench",
          .summary = "JSON lines or JSON of llama-bench",
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
