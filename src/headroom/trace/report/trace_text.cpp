// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

using trace::Cell;
using trace::Kind;

constexpr const char* kNothing = "-";
/// What a table on a terminal spares for a name. Names of kernels have up to thousands of characters.
constexpr std::size_t kNameWidth = 72, kShortestName = 24;

/// Bytes of the first `characters` characters of UTF-8.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  while (at < text.size() && characters > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
    --characters;
  }
  return at;
}

/// Two thirds of the room for the beginning of a name, the rest for its end: template arguments, which tell
/// least, are in the middle.
std::string shortened(const std::string& text, std::size_t most) {
  const std::size_t width = display_width(text);
  if (width <= most) return text;
  const std::size_t head = most * 2 / 3, tail = most - head - 1;
  return text.substr(0, bytes_of(text, head)) + "…" + text.substr(bytes_of(text, width - tail));
}

/// Seconds to the nanosecond, exact.
std::string instant_text(std::int64_t ns) {
  const auto whole = std::lldiv(ns, 1'000'000'000);
  return fmt::format("{}{}.{:09} s", ns < 0 ? "-" : "", std::llabs(whole.quot), std::llabs(whole.rem));
}

std::string rate_text(double giga, const char* unit) {
  constexpr double kThousand = 1000;
  if (std::abs(giga) < kThousand) return fmt::format("{} G{}", format_number(giga), unit);
  return fmt::format("{} T{}", format_number(giga / kThousand), unit);
}

std::string number_text(double value, Kind kind) {
  if (!std::isfinite(value)) return kNothing;
  switch (kind) {
    case Kind::kTimeNs:
      return format_time_ns(value);
    case Kind::kBytes:
      return format_bytes(value);
    case Kind::kShare:
      return format_percent(value);
    case Kind::kGigabytesPerSecond:
      return rate_text(value, "B/s");
    case Kind::kGigaflopsPerSecond:
      return rate_text(value, "FLOP/s");
    default:
      return format_number(value);
  }
}

/// Of a narrow terminal half, so that figures stand beside a name.
std::size_t name_width(const TraceTextOptions& options) {
  const bool narrow = options.width > 0 && !options.markdown;
  return narrow ? std::clamp(options.width / 2, kShortestName, kNameWidth) : kNameWidth;
}

bool is_whole(Kind kind) {
  return kind == Kind::kCount || kind == Kind::kNumber || kind == Kind::kText;
}

std::string headlines_text(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  Table table({{"metric"}, {"device"}, {"value", Align::kRight}});
  for (const trace::Headline& headline : result.headlines) {
    table.row({headline.metric, headline.device.empty() ? "all" : headline.device,
               trace_cell_text(headline.value, headline.kind, options)});
  }
  return table.as(options.form());
}

}  // namespace

std::string trace_cell_text(const Cell& cell, Kind kind, const TraceTextOptions& options) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return options.whole_names ? *text : shortened(*text, name_width(options));
  }
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    if (kind == Kind::kInstantNs) return instant_text(*whole - options.origin_ns);
    return is_whole(kind) ? std::to_string(*whole) : number_text(static_cast<double>(*whole), kind);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    if (kind != Kind::kInstantNs) return number_text(*number, kind);
    return instant_text(std::llround(*number) - options.origin_ns);
  }
  return kNothing;
}

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options) {
  std::vector<Table::Column> columns;
  for (const trace::Column& column : data.columns) {
    columns.push_back({column.title, column.kind == Kind::kText ? Align::kLeft : Align::kRight});
  }
  Table table(std::move(columns));
  for (const std::vector<Cell>& row : data.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(trace_cell_text(row[i], data.columns.at(i).kind, options));
    }
    table.row(std::move(cells));
  }
  return table;
}

std::string trace_text(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  std::string out;
  for (const std::string& sentence : result.answer) out += sentence + (options.markdown ? "  \n" : "\n");
  for (const trace::DataTable& data : result.tables) {
    if (data.is_for_combining || data.is_in_answer) continue;
    if (!out.empty()) out += "\n";
    out += (options.markdown ? "### " : "") + data.title + (data.rows.empty() ? ": none\n" : "\n");
    if (data.rows.empty()) continue;
    if (options.markdown) out += "\n";
    out += trace_table(data, options).as(options.form());
  }
  if (result.tables.empty() && !result.headlines.empty()) out += headlines_text(result, options);
  if (!result.notes.empty() && !out.empty()) out += "\n";
  for (const std::string& note : result.notes) out += "- " + note + "\n";
  return out;
}

}  // namespace headroom
