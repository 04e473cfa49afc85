// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/metric_source.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "headroom/base/csv.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

using From = MetricSource::From;

constexpr double kBytesPerMib = 1 << 20;

double number_of(std::string_view text, const std::string& what) {
  const std::optional<double> value = to_number(trimmed(text));
  if (!value) throw Error(fmt::format("{} is no number: {}", what, in_quotes(text)));
  return *value;
}

/// A POSIX extended regular expression: its matcher needs no more stack for a longer line.
class Expression {
 public:
  explicit Expression(const std::string& text) {
    const int error = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED);
    if (error == 0) return;
    std::array<char, 256> reason{};
    ::regerror(error, &compiled_, reason.data(), reason.size());
    throw Error(fmt::format("{} is no regular expression: {}", in_quotes(text), reason.data()));
  }
  ~Expression() { ::regfree(&compiled_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  std::size_t groups() const { return compiled_.re_nsub; }
  /// What the first group holds in the line, the whole match where there is no group.
  std::optional<std::string> find(const std::string& line) const {
    std::array<regmatch_t, 2> matches{};
    if (::regexec(&compiled_, line.c_str(), matches.size(), matches.data(), 0) != 0) return std::nullopt;
    const regmatch_t& match = groups() > 0 ? matches[1] : matches[0];
    if (match.rm_so < 0) return std::nullopt;
    return line.substr(static_cast<std::size_t>(match.rm_so),
                       static_cast<std::size_t>(match.rm_eo - match.rm_so));
  }

 private:
  regex_t compiled_{};
};

double from_csv(const MetricSource& source, const MetricDocument& document) {
  std::vector<CsvRow> rows = parse_csv(document.text, document.name);
  std::erase_if(
      rows, [](const CsvRow& row) { return row.empty() || (row.size() == 1 && trimmed(row[0]).empty()); });
  if (rows.empty()) throw Error(document.name + " has no lines; a CSV with a line of names was expected");
  std::vector<std::string> names;
  for (const std::string& name : rows.front()) names.emplace_back(trimmed(name));
  const auto column = std::ranges::find(names, source.key);
  if (column == names.end()) {
    throw Error(fmt::format("{} has no column {}{}; it has {}", document.name, in_quotes(source.key),
                            did_you_mean(source.key, names), join(names, ", ")));
  }
  if (rows.size() != 2) {
    throw Error(fmt::format("{} has {} rows of values; one was expected", document.name, rows.size() - 1));
  }
  const auto index = static_cast<std::size_t>(column - names.begin());
  if (index >= rows[1].size()) {
    throw Error(
        fmt::format("{}: the row of values ends before the column {}", document.name, in_quotes(source.key)));
  }
  return number_of(rows[1][index], fmt::format("{}: the column {}", document.name, in_quotes(source.key)));
}

double from_json(const MetricSource& source, const MetricDocument& document) {
  const Json json = parse_json(document.text, document.name);
  const Json* value = json_at(json, source.key);
  if (value == nullptr) {
    throw Error(fmt::format("{} has nothing at {}", document.name, in_quotes(source.key)));
  }
  if (!value->is_number()) {
    throw Error(fmt::format("{}: at {} there is no number but {}", document.name, in_quotes(source.key),
                            in_quotes(dump_json(*value))));
  }
  return value->get<double>();
}

double from_output(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  const Expression expression(source.key);
  std::optional<std::string> found;
  const auto look = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (auto text = expression.find(line)) found = std::move(text);
    }
  };
  look(split(document.text, '\n'));
  if (!found) look(result.error_lines);
  if (!found) {
    throw Error(fmt::format("nothing in {} or in the last lines of its standard error fits {}{}",
                            document.name, in_quotes(source.key),
                            document.is_cut ? "; only the begin of the output was kept" : ""));
  }
  return number_of(*found, "what fits " + in_quotes(source.key));
}

double value_of(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  switch (source.from) {
    case From::kWall:
      return result.wall_ns / kNsPerSecond;
    case From::kCpu:
      return (result.user_ns + result.system_ns) / kNsPerSecond;
    case From::kPeakRss:
      return static_cast<double>(result.peak_rss_bytes) / kBytesPerMib;
    case From::kCsv:
      return from_csv(source, document);
    case From::kJson:
      return from_json(source, document);
    case From::kOutput:
      break;
  }
  return from_output(source, result, document);
}

}  // namespace

MetricSource parse_metric(std::string_view text) {
  if (text == "wall") return {From::kWall, "", "wall time", "s"};
  if (text == "cpu") return {From::kCpu, "", "CPU time", "s"};
  if (text == "rss") return {From::kPeakRss, "", "peak RSS", "MiB"};
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string key(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!key.empty()) {
    if (kind == "csv") return {From::kCsv, key, key, ""};
    if (kind == "json") return {From::kJson, key, key.substr(key.find_last_of('/') + 1), ""};
    if (kind == "output") return {From::kOutput, key, "output", ""};
  }
  throw Error("unknown metric " + in_quotes(text) +
              "; it is wall, cpu, rss, csv:COLUMN, json:/POINTER or output:EXPRESSION");
}

void check_metric(const MetricSource& source) {
  if (source.needs_document() && source.key.empty())
    throw Error("the metric does not say where its number is");
  if (source.from == From::kOutput) {
    const Expression expression(source.key);
    if (expression.groups() > 1) {
      throw Error(in_quotes(source.key) + " has several groups; one, around the number, was expected");
    }
  }
  if (source.from != From::kJson) return;
  json_at(Json(), source.key);  // which refuses what is none
}

double read_metric(const MetricSource& source, const CommandResult& result, const MetricDocument& document) {
  const double value = value_of(source, result, document);
  if (std::isfinite(value) && value >= 0) return value;
  throw Error(fmt::format("{} is {}; a finite number, not below 0, was expected", source.name, value));
}

}  // namespace headroom
