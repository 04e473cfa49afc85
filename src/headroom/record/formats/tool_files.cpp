// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/tool_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_reader.h"
#include "headroom/base/text.h"
#include "headroom/files/csv.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// `text` must start with a bracket.
std::size_t end_of_first_value(std::string_view text) {
  int depth = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (inside && c == '\\') ++at;
    if (c == '"') inside = !inside;
    if (inside) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
  }
  return text.size();
}

std::vector<JsonRow> parse_lines(std::string_view text, const std::string& source) {
  std::vector<JsonRow> rows;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = fmt::format("{}: line {}", source, number);
    rows.push_back({parse_tool_json(line, where), where + ": "});
  }
  return rows;
}

std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 16777619u;
  return hash;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string plain_name(std::string_view text) {
  constexpr std::size_t kMaxLength = 32;
  std::string name;
  for (const char character : text) {
    if (is_plain(character)) {
      name += character;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == kMaxLength) break;
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "machine" : name;
}

std::string host_of(const Environment::Runner& machine) {
  const auto host = machine.extra_info.find("hostname");
  return host == machine.extra_info.end() ? machine.name : host->second;
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Minutes east of Greenwich.
int zone_minutes(std::string_view zone) {
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return 0;
  const std::size_t minutes_at = zone.size() > 3 && zone[3] == ':' ? 4 : 3;
  const int minutes = 60 * digits(zone, 1, 2).value_or(0) + digits(zone, minutes_at, 2).value_or(0);
  return zone[0] == '-' ? -minutes : minutes;
}

}  // namespace

Json parse_tool_json(std::string_view text, const std::string& source) {
  const std::string terminated(text);
  JsonReader reader(terminated, source);
  reader.accept_numbers({"NaN", "-NaN", "Infinity", "-Infinity"});
  Json value = reader.value();
  reader.finish();
  return value;
}

std::vector<JsonRow> parse_json_rows(std::string_view text, const std::string& source) {
  std::vector<JsonRow> rows;
  const std::string_view content = trimmed(text);
  if (content.starts_with('{') && end_of_first_value(content) < content.size()) {
    rows = parse_lines(text, source);
  } else {
    Json document = parse_tool_json(text, source);
    if (document.is_array()) {
      for (Json& object : document) {
        rows.push_back({std::move(object), fmt::format("{}: /{}", source, rows.size())});
      }
    } else {
      rows.push_back({std::move(document), source + ": "});
    }
  }
  if (rows.empty()) throw Error(source + ": the list is empty; there is nothing to read");
  return rows;
}

std::vector<JsonRow> parse_csv_rows(std::string_view text, const std::string& source,
                                    std::initializer_list<std::string_view> texts) {
  const std::vector<CsvRow> lines = parse_csv(text, source);
  std::vector<JsonRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    JsonRow row{Json::object(), fmt::format("{}: row {}", source, i + 1)};
    if (lines[i].size() > lines[0].size()) {
      throw Error(fmt::format("{}: has {} cells, but the header has {}; the file is damaged", row.where,
                              lines[i].size(), lines[0].size()));
    }
    for (std::size_t column = 0; column < lines[i].size(); ++column) {
      const std::string &name = lines[0][column], &cell = lines[i][column];
      if (cell.empty()) continue;
      const bool is_text = std::ranges::find(texts, name) != texts.end() || name.starts_with("parameter_");
      const auto whole = is_text ? std::nullopt : to_integer(cell);
      const auto number = is_text ? std::nullopt : to_number(cell);
      row.object[name] = whole ? Json(*whole) : number ? Json(*number) : Json(cell);
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error(source + ": has a header and no rows; there is nothing to read");
  return rows;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Fields fields_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t";
  Fields fields;
  for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return fields;
}

const Json& require_array(const Json& value, const std::string& where) {
  if (value.is_array()) return value;
  throw Error(fmt::format("{}: expected an array, found {}", where, value.type_text()));
}

const Json& require_object(const Json& value, const std::string& where) {
  if (value.is_object()) return value;
  throw Error(fmt::format("{}: expected an object, found {}", where, value.type_text()));
}

double tool_number(const Json& value, const std::string& where) {
  if (!value.is_number())
    throw Error(fmt::format("{}: expected a number, found {}", where, value.type_text()));
  const double number = value.get<double>();
  return std::isfinite(number) ? number : std::numeric_limits<double>::quiet_NaN();
}

double finite_number(const Json& object, const char* key, const std::string& where) {
  const std::string path = where + "/" + key;
  const double value = tool_number(json_member(object, key, where), path);
  if (!std::isfinite(value)) throw Error(path + ": expected a finite number, found NaN or an infinity");
  return value;
}

double require_time(double value, const std::string& where) {
  if (!std::isfinite(value)) throw TimeError(where + ": expected a time, found NaN or an infinity");
  if (value <= 0) {
    throw TimeError(fmt::format("{}: expected a time above zero, found {}; measure again", where, value));
  }
  return value;
}

std::vector<double> read_times(const Json& array, const std::string& where) {
  std::vector<double> times;
  times.reserve(array.size());
  // Build an element's path only for an error.
  for (const Json& value : require_array(array, where)) {
    if (const double time = value.is_number() ? value.get<double>() : 0; time > 0 && std::isfinite(time)) {
      times.push_back(time);
    } else {
      const std::string path = fmt::format("{}/{}", where, times.size());
      times.push_back(require_time(tool_number(value, path), path));
    }
  }
  return times;
}

std::string plain_text(const Json& value) {
  if (value.is_string()) return value.string();
  return value.is_number() && std::isnan(tool_number(value, "")) ? "NaN" : dump_json(value);
}

std::map<std::string, std::string> plain_texts(const Json& object) {
  std::map<std::string, std::string> texts;
  if (!object.is_object()) return texts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || ((value.is_structured() || value.is_string()) && value.empty())) continue;
    texts[key] = plain_text(value);
  }
  return texts;
}

std::string imported_fingerprint(const std::vector<Environment::Runner>& machines) {
  std::string label, facts;
  for (const Environment::Runner& machine : machines) {
    const std::string host = host_of(machine);
    for (const std::string& name : {host, machine.cpu_info, machine.gpu_info}) {
      if (label.empty()) label = name;
    }
    facts += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", host, machine.name, machine.type, machine.cpu_info,
                         machine.cpu_count, machine.gpu_info, machine.gpu_count);
  }
  return label.empty() ? "" : fmt::format("{}-{:08x}", plain_name(label), hash_of(facts));
}

std::shared_ptr<Environment> imported_environment(const Environment::Runner& machine) {
  auto environment = std::make_shared<Environment>();
  environment->fingerprint = imported_fingerprint({machine});
  if (!environment->fingerprint.empty()) environment->machines.push_back(machine);
  return environment;
}

std::optional<double> nanoseconds_per(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const auto found = std::ranges::find(kUnits, unit, [](const auto& entry) { return entry.first; });
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t seconds_of_iso_time(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = digits(text, 0, 4), month_number = digits(text, 5, 2),
             day_number = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year_number || !month_number || !day_number || !hour || !minute || !second) return 0;
  const year_month_day date{year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number))};
  if (!date.ok()) return 0;
  const std::size_t zone = std::min(text.find_first_of("+-Z", 19), text.size());
  const auto time = sys_days(date).time_since_epoch() + hours(*hour) +
                    minutes(*minute - zone_minutes(text.substr(zone))) + seconds(*second);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration_cast<seconds>(time).count()));
}

Record tool_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                   Direction direction) {
  Record record;
  record.benchmark.name = std::move(tool);
  record.model.name = std::move(case_name);
  set_metric(record, std::move(metric), std::move(unit), direction);
  return record;
}

void set_metric(Record& record, std::string metric, std::string unit, Direction direction) {
  record.metric = {};
  record.metric.name = std::move(metric);
  record.metric.unit = std::move(unit);
  record.metric.direction = direction;
}

Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction) {
  Record record =
      tool_record(std::move(tool), std::move(case_name), std::move(metric), std::move(unit), direction);
  record.metric.headline = true;
  return record;
}

void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations) {
  std::vector<std::vector<double>> processes;
  processes.push_back(std::move(values));
  set_process_samples(record, std::move(processes), iterations);
}

void set_process_samples(Record& record, std::vector<std::vector<double>> processes,
                         std::uint64_t iterations) {
  std::vector<double> all;
  for (std::vector<double>& values : processes) {
    if (values.empty()) continue;
    all.insert(all.end(), values.begin(), values.end());
    ProcessSamples process;
    process.iterations = iterations;
    process.values = std::move(values);
    record.samples.push_back(std::move(process));
  }
  if (all.empty()) {
    record.outcome = {Outcome::Kind::kFailed, "the file holds no value"};
    return;
  }
  // A unit or a rate may overflow: fail_if_unbounded().
  const auto is_finite = [](double value) { return std::isfinite(value); };
  const auto odd = std::ranges::find_if_not(all, is_finite);
  record.metric.value = odd == all.end() ? median(all) : *odd;
  const Series series = steady(record);
  if (const auto found = std::ranges::all_of(series.values, is_finite) ? estimate(series) : std::nullopt)
    record.interval = found->interval;
}

double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle
                                : std::lerp(*std::max_element(values.begin(), middle), *middle, 0.5);
}

void set_value(Record& record, double value) {
  record.metric.value = value;
}

std::string unit_of_name(std::string_view metric) {
  const std::size_t open = metric.rfind('(');
  if (open == std::string_view::npos || !metric.ends_with(')')) return {};
  return std::string(metric.substr(open + 1, metric.size() - open - 2));
}

}  // namespace headroom
