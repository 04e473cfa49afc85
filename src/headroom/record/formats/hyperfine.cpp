// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::optional<double> seconds_per(const std::string& unit) {
  static const std::map<std::string, double> kUnits{
      {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const auto found = kUnits.find(unit);
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

std::vector<double> all_values(const Record& record, double factor = 1) {
  std::vector<double> values;
  for (const ProcessSamples& process : record.samples) {
    for (const double value : process.values) values.push_back(value * factor);
  }
  return values;
}

std::string command_of(const Record& record) {
  const auto title = record.model.extra_info.find("title");
  if (title != record.model.extra_info.end()) return title->second;
  return record.model.backend.empty() ? case_name(record) : case_name(record) + " " + record.model.backend;
}

bool same_command(const Record& a, const Record& b) {
  return a.model.name == b.model.name && a.model.backend == b.model.backend && a.axes == b.axes &&
         a.runner == b.runner && a.caches == b.caches && a.threads == b.threads &&
         a.benchmark.dtype == b.benchmark.dtype;
}

/// Only if a run failed; their number may differ from that of the times.
Json exit_codes(const Record* record, std::size_t runs) {
  Json codes = Json::array();
  const bool known = record != nullptr && !record->samples.empty();
  const std::vector<double> values = known ? all_values(*record) : std::vector<double>(runs);
  for (const double value : values) codes.push_back(value < 0 ? Json() : Json(static_cast<int>(value)));
  return codes;
}

Json result_of(const Record& latency, const std::vector<Record>& records) {
  const auto other = [&](const char* metric) -> const Record* {
    const auto found = std::ranges::find_if(records, [&](const Record& record) {
      return record.metric.name == metric && same_command(record, latency);
    });
    return found == records.end() ? nullptr : &*found;
  };
  const auto mean_or_zero = [&](const char* metric) {
    const Record* record = other(metric);
    if (record == nullptr) return 0.0;
    const double factor = seconds_per(record->metric.unit).value_or(1);
    return record->samples.empty() ? factor * record->metric.value : mean(all_values(*record, factor));
  };
  const std::vector<double> times = all_values(latency, *seconds_per(latency.metric.unit));
  Json result;
  result["command"] = command_of(latency);
  result["mean"] = mean(times);
  result["stddev"] = times.size() > 1 ? Json(standard_deviation(times)) : Json();
  result["median"] = median(times);
  result["user"] = mean_or_zero("user_time");
  result["system"] = mean_or_zero("system_time");
  result["min"] = *std::ranges::min_element(times);
  result["max"] = *std::ranges::max_element(times);
  result["times"] = times;
  if (const Record* memory = other("peak_memory"); memory != nullptr && !memory->samples.empty()) {
    result["memory_usage_byte"] = Json::array();
    for (const double bytes : all_values(*memory))
      result["memory_usage_byte"].push_back(static_cast<std::int64_t>(bytes));
  }
  result["exit_codes"] = exit_codes(other("exit_code"), times.size());
  for (const auto& [name, value] : latency.axes) result["parameters"][name] = value.text();
  return result;
}

struct Command {
  std::string name;  ///< with {parameters}, as in `headroom ab`
  std::string title;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<double> exit_codes;  ///< of each run, -1 for a signal; empty if none failed
  Notes notes;
};

/// The longest match wins.
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
  command.name = command.title = redact_secrets(json_string(result, "command", where));
  if (const Json* parameters = json_optional(result, "parameters", where)) {
    for (const auto& [name, value] : plain_texts(*parameters)) command.parameters.emplace_back(name, value);
  }
  if (json_optional(result, "exit_codes", where) == nullptr) return command;
  const Json& codes = json_array(result, "exit_codes", where);
  // null: signalled.
  const auto failed = std::count_if(codes.begin(), codes.end(), [](const Json& code) { return code != 0; });
  if (failed > 0) {
    command.notes.push_back(
        fmt::format("{} of {} runs of the command failed (exit code other than 0).", failed, codes.size()));
    for (const Json& code : codes) command.exit_codes.push_back(code.is_number() ? code.get<double>() : -1);
  }
  return command;
}

/// Recovers the template of filled-in commands from the results that agree on it: a value may occur elsewhere
/// in one command, but hardly in all.
void restore_templates(std::vector<Command>& commands) {
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

/// Uses the identity of `headroom time` and `headroom ab`.
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

/// Throws TimeError if a value cannot be a time.
void set_times(Record& record, const Json& result, const std::string& where) {
  if (json_optional(result, "times", where) != nullptr) {
    const std::string path = where + "/times";
    std::vector<double> times = read_times(json_array(result, "times", where), path);
    if (times.empty()) throw TimeError(path + ": is empty; there is nothing to read");
    set_samples(record, std::move(times));
  } else {
    const char* key = result.contains("median") ? "median" : "mean";
    set_value(record, require_time(finite_number(result, key, where), where + "/" + key));
  }
}

void add_records(const Json& result, const Command& command, const std::string& where,
                 std::vector<Record>& records) {
  Record latency = record_of(command, "latency", "s");
  latency.metric.headline = true;
  try {
    set_times(latency, result, where);
  } catch (const TimeError& error) {
    latency.outcome = {Outcome::Kind::kFailed, error.what()};
    records.push_back(std::move(latency));
    return;
  }
  records.push_back(std::move(latency));
  // Means: hyperfine stores no samples. 0 is normal.
  for (const char* key : {"user", "system"}) {
    if (json_optional(result, key, where) == nullptr) continue;
    Record record = record_of(command, std::string(key) + "_time", "s");
    set_value(record, finite_number(result, key, where));
    if (record.metric.value < 0)
      throw Error(fmt::format("{}/{}: expected a time of at least zero", where, key));
    records.push_back(std::move(record));
  }
  if (json_optional(result, "memory_usage_byte", where) != nullptr) {
    Record record = record_of(command, "peak_memory", "B");
    set_samples(record, json_member_as<std::vector<double>>(result, "memory_usage_byte", where));
    records.push_back(std::move(record));
  }
  if (!command.exit_codes.empty()) {
    Record record = record_of(command, "exit_code", "1");
    set_samples(record, command.exit_codes);
    records.push_back(std::move(record));
  }
}

std::string json_of(Json results) {
  Json document;
  document["results"] = std::move(results);
  return dump_json_pretty(document) + "\n";
}

/// Omits failed commands, as hyperfine does.
Json results_of(const std::vector<Record>& records) {
  Json results = Json::array();
  for (const Record& record : records) {
    if (record.metric.name != "latency" || !seconds_per(record.metric.unit) || all_values(record).empty())
      continue;
    if (record.outcome.kind == Outcome::Kind::kMeasured) results.push_back(result_of(record, records));
  }
  return results;
}

std::string write_hyperfine(const std::vector<Record>& records, std::string_view /*previous*/,
                            const std::string& source) {
  const bool gave_up = std::ranges::any_of(
      records, [](const Record& record) { return record.outcome.kind != Outcome::Kind::kMeasured; });
  return gave_up ? json_of(results_of(records)) : hyperfine_json(records, source);
}

bool is_hyperfine_csv(std::string_view text) {
  return text.starts_with("command,mean,stddev,median,user,system,min,max");
}

/// Converts to hyperfine's JSON.
Json results_of_csv(std::string_view text, const std::string& source) {
  Json results = Json::array();
  for (JsonRow& row : parse_csv_rows(text, source, {"command"})) {
    constexpr std::string_view kParameter = "parameter_";
    Json parameters = Json::object();
    for (const auto& [column, value] : row.object.items()) {
      if (column.starts_with(kParameter)) parameters[column.substr(kParameter.size())] = value;
    }
    row.object["parameters"] = std::move(parameters);
    results.push_back(std::move(row.object));
  }
  return results;
}

bool is_hyperfine(const FileOutline& outline) {
  if (is_hyperfine_csv(outline.text())) return true;
  return outline.starts_with_object() &&
         (outline.has_empty_list("results") ||
          (outline.has("results/command") &&
           outline.has_any({"results/times", "results/mean", "results/median"})));
}

std::vector<Record> read_hyperfine(const PaddedText& text, const std::string& source) {
  const std::string root = source + ": ";
  const bool csv = is_hyperfine_csv(text.view());
  const Json document =
      csv ? Json{{"results", results_of_csv(text.view(), source)}} : parse_tool_json(text.view(), source);
  const auto where = [&](std::size_t position) {
    return csv ? fmt::format("{}row {}", root, position + 2) : fmt::format("{}/results/{}", root, position);
  };
  const Json& results = json_array(document, "results", root);
  std::vector<Command> commands;
  for (const Json& result : results) commands.push_back(read_command(result, where(commands.size())));
  restore_templates(commands);
  std::vector<Record> records;
  for (std::size_t i = 0; i < commands.size(); ++i) add_records(results[i], commands[i], where(i), records);
  if (records.empty()) throw Error(root + "/results: is empty; there is nothing to read");
  const bool any = std::ranges::any_of(
      records, [](const Record& record) { return record.outcome.kind == Outcome::Kind::kMeasured; });
  if (!any) throw Error(records.front().outcome.reason);
  return records;
}

}  // namespace

std::string hyperfine_json(const std::vector<Record>& records, const std::string& source) {
  Json results = results_of(records);
  if (results.empty()) throw Error(source + ": no times to write, and hyperfine's file holds only times");
  return json_of(std::move(results));
}

/// hyperfine's --export-json (read) and --export-csv, which has medians only.
Format hyperfine_format() {
  return {.name = "hyperfine",
          .summary = "JSON of hyperfine",
          .write = write_hyperfine,
          .recognises = is_hyperfine,
          .read = read_hyperfine,
          .one_run = true};
}

}  // namespace headroom
