// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/hyperfine.h"

#include <fmt/format.h>

#include <algorithm>
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/hyperfine_json.h"
#include "headroom/record/json_fields.h"
#include "headroom/record/tool_json.h"
#include "headroom/record/tool_record.h"

namespace headroom {
namespace {

constexpr const char* kTool = "hyperfine";

/// What the records of one command share.
struct Command {
  std::string name;
  AxisValues parameters;
  std::vector<std::string> notes;
};

Command read_command(const Json& result, const std::string& where) {
  Command command;
  command.name = json_string(result, "command", where);
  if (const Json* parameters = record_json::optional_member(result, "parameters", where)) {
    for (const auto& [name, value] : plain_texts(*parameters)) command.parameters.emplace_back(name, value);
  }
  if (record_json::optional_member(result, "exit_codes", where) == nullptr) return command;
  const Json& codes = json_array(result, "exit_codes", where);
  // null: ended by a signal.
  const auto failed = std::count_if(codes.begin(), codes.end(), [](const Json& code) { return code != 0; });
  if (failed > 0) {
    command.notes.push_back(
        fmt::format("{} of {} runs of the command failed (exit code other than 0).", failed, codes.size()));
  }
  return command;
}

Record latency(const Json& result, const std::string& name, const std::string& where) {
  Record record = headline_record(kTool, name, "latency", "s");
  if (record_json::optional_member(result, "times", where) != nullptr) {
    const std::string path = where + "/times";
    std::vector<double> times = read_times(json_array(result, "times", where), path);
    if (times.empty()) throw Error(path + ": is empty; there is nothing to read");
    set_samples(record, std::move(times));
  } else {
    const char* key = result.contains("median") ? "median" : "mean";
    set_value(record, require_time(finite_number(result, key, where), where + "/" + key));
  }
  return record;
}

void add_records(const Json& result, const std::string& where, std::vector<Record>& records) {
  const Command command = read_command(result, where);
  const auto add = [&](Record record) {
    record.axes = command.parameters;
    record.notes = command.notes;
    records.push_back(std::move(record));
  };
  add(latency(result, command.name, where));
  // Means over the runs: hyperfine keeps no samples of them, and 0 is what a short command takes.
  for (const char* key : {"user", "system"}) {
    if (record_json::optional_member(result, key, where) == nullptr) continue;
    Record record = tool_record(kTool, command.name, std::string(key) + "_time", "s");
    set_value(record, finite_number(result, key, where));
    if (record.metric.value < 0) throw Error(fmt::format("{}/{}: expected a time from zero up", where, key));
    add(std::move(record));
  }
  if (record_json::optional_member(result, "memory_usage_byte", where) != nullptr) {
    Record record = tool_record(kTool, command.name, "peak_memory", "B");
    set_samples(record, record_json::read_numbers(result, "memory_usage_byte", where));
    add(std::move(record));
  }
}

std::string write(const std::vector<Record>& records, std::string_view /*previous*/,
                  const std::string& source) {
  return hyperfine_json(records, source);
}

bool recognises(std::string_view text) {
  return trimmed(text.substr(0, 256)).starts_with('{') && holds_keys(text, {"results", "command"}) &&
         (holds_keys(text, {"mean"}) || holds_keys(text, {"times"}));
}

std::vector<Record> read(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  const std::string root = source + ": ";
  std::vector<Record> records;
  std::size_t position = 0;
  for (const Json& result : json_array(document, "results", root)) {
    add_records(result, fmt::format("{}/results/{}", root, position++), records);
  }
  if (records.empty()) throw Error(root + "/results: is empty; there is nothing to read");
  return records;
}

}  // namespace

Format hyperfine_format() {
  return {.name = "hyperfine",
          .summary = "JSON of hyperfine",
          .write = write,
          .recognises = recognises,
          .read = read};
}

}  // namespace headroom
