// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/hyperfine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/record/hyperfine_json.h"
#include "headroom/record/tool_json.h"
#include "headroom/record/tool_record.h"

namespace headroom {
namespace {

/// What the records of one command share.
struct Command {
  std::string name;   ///< {parameters} in place of their values, as `headroom ab` has it
  std::string title;  ///< as it was run
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> notes;
};

/// `text` with {NAME} wherever the value of a parameter stands; of several that fit, the longest.
std::string with_placeholders(const std::string& text,
                              const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string replaced;
  for (std::size_t at = 0; at < text.size();) {
    const std::pair<std::string, std::string>* longest = nullptr;
    for (const auto& parameter : parameters) {
      const bool fits =
          !parameter.second.empty() && text.compare(at, parameter.second.size(), parameter.second) == 0;
      if (fits && (longest == nullptr || parameter.second.size() > longest->second.size()))
        longest = &parameter;
    }
    replaced += longest == nullptr ? text.substr(at, 1) : "{" + longest->first + "}";
    at += longest == nullptr ? 1 : longest->second.size();
  }
  return replaced;
}

Command read_command(const Json& result, const std::string& where) {
  Command command;
  command.name = command.title = without_secrets(json_string(result, "command", where));
  if (const Json* parameters = json_optional(result, "parameters", where)) {
    for (const auto& [name, value] : plain_texts(*parameters)) command.parameters.emplace_back(name, value);
  }
  if (json_optional(result, "exit_codes", where) == nullptr) return command;
  const Json& codes = json_array(result, "exit_codes", where);
  // null: ended by a signal.
  const auto failed = std::count_if(codes.begin(), codes.end(), [](const Json& code) { return code != 0; });
  if (failed > 0) {
    command.notes.push_back(
        fmt::format("{} of {} runs of the command failed (exit code other than 0).", failed, codes.size()));
  }
  return command;
}

/// hyperfine tells a command only with its parameters filled in. What it was before is taken from the results
/// that agree about it: a value may stand elsewhere in a command, too, but hardly so in all of them.
void name_as_given(std::vector<Command>& commands) {
  std::map<std::string, int> agreeing;
  const auto template_of = [](const Command& command) {
    return with_placeholders(command.title, command.parameters);
  };
  for (const Command& command : commands) {
    if (!command.parameters.empty()) ++agreeing[template_of(command)];
  }
  for (Command& command : commands) {
    if (command.parameters.empty()) continue;
    const std::string name = template_of(command);
    if (agreeing.at(name) > 1 || commands.size() == 1) command.name = name;
  }
}

/// With the identity that `headroom time` and `headroom ab` give to the same command: they can be compared.
Record record_of(const Command& command, const std::string& metric, const std::string& unit) {
  Record record = tool_record("headroom", command.name, metric, unit);
  record.benchmark.extra_info["tool"] = "hyperfine";
  record.model.type = "command";
  record.model.extra_info = {{"command", command.title}, {"title", command.title}};
  record.device = "cpu";
  record.axes.assign(command.parameters.begin(), command.parameters.end());
  record.notes = command.notes;
  return record;
}

Record latency(const Json& result, const Command& command, const std::string& where) {
  Record record = record_of(command, "latency", "s");
  record.metric.headline = true;
  if (json_optional(result, "times", where) != nullptr) {
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

void add_records(const Json& result, const Command& command, const std::string& where,
                 std::vector<Record>& records) {
  records.push_back(latency(result, command, where));
  // Means over the runs: hyperfine keeps no samples of them, and 0 is what a short command takes.
  for (const char* key : {"user", "system"}) {
    if (json_optional(result, key, where) == nullptr) continue;
    Record record = record_of(command, std::string(key) + "_time", "s");
    set_value(record, finite_number(result, key, where));
    if (record.metric.value < 0) throw Error(fmt::format("{}/{}: expected a time from zero up", where, key));
    records.push_back(std::move(record));
  }
  if (json_optional(result, "memory_usage_byte", where) != nullptr) {
    Record record = record_of(command, "peak_memory", "B");
    set_samples(record, json_member_as<std::vector<double>>(result, "memory_usage_byte", where));
    records.push_back(std::move(record));
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
  const auto where = [&](std::size_t position) { return fmt::format("{}/results/{}", root, position); };
  const Json& results = json_array(document, "results", root);
  std::vector<Command> commands;
  for (const Json& result : results) commands.push_back(read_command(result, where(commands.size())));
  name_as_given(commands);
  std::vector<Record> records;
  for (std::size_t i = 0; i < commands.size(); ++i) add_records(results[i], commands[i], where(i), records);
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
