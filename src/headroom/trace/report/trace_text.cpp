// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/trace/report/distinct_names.h"

namespace headroom {
namespace {

using trace::Cell;
using trace::Kind;

constexpr const char* kNothing = "-";
/// What a table on a terminal spares for a name. Names of kernels have up to thousands of characters.
constexpr std::size_t kNameWidth = 72, kShortestName = 24;

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

Table headlines_table(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  Table table({{"metric"}, {"device"}, {"value", Align::kRight}});
  for (const trace::Headline& headline : result.headlines) {
    table.row({headline.metric, headline.device.empty() ? "all" : headline.device,
               trace_cell_text(headline.value, headline.kind, options)});
  }
  return table;
}

}  // namespace

std::string trace_cell_text(const Cell& cell, Kind kind, const TraceTextOptions& options) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return options.whole_names ? *text : shortened_names({*text}, name_width(options)).front();
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

namespace {

/// The texts of a column, short enough and still different where they differ; empty for columns of numbers.
std::vector<std::string> texts_of(const trace::DataTable& data, std::size_t column,
                                  const TraceTextOptions& options) {
  if (data.columns[column].kind != Kind::kText) return {};
  std::vector<std::string> texts;
  for (const std::vector<Cell>& row : data.rows)
    texts.push_back(trace_cell_text(row.at(column), Kind::kText, {.whole_names = true}));
  return options.whole_names ? texts : shortened_names(texts, name_width(options));
}

}  // namespace

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options) {
  std::vector<Table::Column> columns;
  for (const trace::Column& column : data.columns) {
    columns.push_back({column.title, column.kind == Kind::kText ? Align::kLeft : Align::kRight});
  }
  Table table(std::move(columns));
  std::vector<std::vector<std::string>> texts;
  for (std::size_t i = 0; i < data.columns.size(); ++i) texts.push_back(texts_of(data, i, options));
  for (std::size_t place = 0; place < data.rows.size(); ++place) {
    const std::vector<Cell>& row = data.rows[place];
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Kind kind = data.columns.at(i).kind;
      cells.push_back(kind == Kind::kText ? texts[i][place] : trace_cell_text(row[i], kind, options));
    }
    table.row(std::move(cells));
  }
  return table;
}

Sheet trace_sheet(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  Sheet sheet;
  for (const std::string& sentence : result.answer) sheet.answer(sentence);
  for (const trace::DataTable& data : result.tables) {
    if (data.is_for_combining || data.is_in_answer) continue;
    sheet.title(data.title + (data.rows.empty() ? ": none" : ""));
    sheet.table(trace_table(data, options));
  }
  if (result.tables.empty() && !result.headlines.empty()) sheet.table(headlines_table(result, options));
  // Apart from the last table, which they are not about; Markdown does that by itself.
  const bool is_alone = result.answer.empty() && result.tables.empty() && result.headlines.empty();
  std::string notes = result.notes.empty() || options.markdown || is_alone ? "" : "\n";
  for (const std::string& note : result.notes) notes += "- " + note + "\n";
  return sheet.notes(notes, Tone::kPlain);
}

}  // namespace headroom
