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
#include "headroom/base/text.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Replaces literals such as NaN at equal length. No tool writes DEL in a string.
constexpr std::string_view kNotFinite = "\"\x7f\"";

/// Iterates over JSON characters outside strings.
class Structure {
 public:
  explicit Structure(std::string_view text) : text_(text) {}

  bool next() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (inside_) {
        if (c == '\\') ++at_;
        if (c == '"') inside_ = false;
        continue;
      }
      if (c == '"') inside_ = true;
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      return true;
    }
    return false;
  }
  std::size_t at() const { return at_; }
  char character() const { return text_[at_]; }
  int depth() const { return depth_; }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  std::string_view text_;
  std::size_t at_ = std::string_view::npos;
  bool inside_ = false;
  int depth_ = 0;
};

/// Empty if there are none.
std::string without_literals(std::string_view text, const std::string& source) {
  constexpr int kDeepest = 500;
  std::string replaced;
  for (Structure scan(text); scan.next();) {
    if (scan.depth() > kDeepest) {
      throw Error(fmt::format(
          "{}: nested more than {} deep at byte {}; no tool that headroom reads writes such files", source,
          kDeepest, scan.at()));
    }
    const char c = scan.character();
    if (c != 'N' && c != 'I') continue;
    const std::string_view literal = c == 'N' ? "NaN" : "Infinity";
    if (!scan.rest().starts_with(literal)) continue;
    if (replaced.empty()) replaced = text;
    std::string filled(kNotFinite);
    filled.resize(literal.size(), ' ');
    replaced.replace(scan.at(), literal.size(), filled);
    if (scan.at() > 0 && replaced[scan.at() - 1] == '-') replaced[scan.at() - 1] = ' ';
  }
  return replaced;
}

/// `text` must start with a bracket.
std::size_t end_of_first_value(std::string_view text) {
  for (Structure scan(text); scan.next();) {
    if (scan.depth() == 0) return scan.at() + 1;
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
  constexpr std::size_t kLongest = 32;
  std::string name;
  for (const char character : text) {
    if (is_plain(character)) {
      name += character;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() == kLongest) break;
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
  const std::string replaced = without_literals(text, source);
  return parse_json(replaced.empty() ? text : std::string_view(replaced), source);
}

void require_json(std::string_view text, const std::string& source) {
  if (!is_json(text)) parse_json(text, source);
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

bool is_tool_number(const Json& value) {
  return value.is_number() || (value.is_string() && value.string() == "\x7f");
}

double tool_number(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (is_tool_number(value)) return std::numeric_limits<double>::quiet_NaN();
  throw Error(fmt::format("{}: expected a number, found {}", where, value.type_text()));
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
  if (!array.is_array())
    throw Error(fmt::format("{}: expected an array, found {}", where, array.type_text()));
  std::vector<double> times;
  times.reserve(array.size());
  // Build an element's path only for an error.
  for (const Json& value : array) {
    if (value.is_number() && value.get<double>() > 0) {
      times.push_back(value.get<double>());
    } else {
      const std::string path = fmt::format("{}/{}", where, times.size());
      times.push_back(require_time(tool_number(value, path), path));
    }
  }
  return times;
}

std::string plain_text(const Json& value) {
  if (!value.is_string()) return dump_json(value);
  return is_tool_number(value) ? "NaN" : value.get<std::string>();
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
  record.metric.name = std::move(metric);
  record.metric.unit = std::move(unit);
  record.metric.direction = direction;
  return record;
}

Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction) {
  Record record =
      tool_record(std::move(tool), std::move(case_name), std::move(metric), std::move(unit), direction);
  record.metric.headline = true;
  return record;
}

void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations) {
  if (values.empty()) {
    record.outcome = {Outcome::Kind::kFailed, "the file holds no value"};
    return;
  }
  // A unit or a rate may overflow: fail_if_unbounded().
  const auto is_finite = [](double value) { return std::isfinite(value); };
  const auto odd = std::ranges::find_if_not(values, is_finite);
  record.metric.value = odd == values.end() ? median(values) : *odd;
  ProcessSamples process;
  process.iterations = iterations;
  process.values = std::move(values);
  record.samples.push_back(std::move(process));
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
