// SPDX-License-Identifier: Apache-2.0
#include "headroom/tables/table.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

std::size_t indent_of(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  const bool is_mark = line.substr(begin + 1).starts_with("  ");
  if (is_mark) return begin + 3;
  return line.substr(begin).starts_with("- ") ? begin + 2 : begin;
}

constexpr const char* kGap = "  ";
constexpr std::size_t kGapWidth = 2;

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Cells may hold untrusted input.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return visible(text);
}

std::string padded(const std::string& text, std::size_t width, Align align, Tone tone, bool colour) {
  const std::size_t taken = display_width(text);
  const std::string blanks(width > taken ? width - taken : 0, ' '), shown = coloured(text, tone, colour);
  return align == Align::kRight ? blanks + shown : shown + blanks;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

constexpr bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Escapes GitHub's Markdown. An underscore inside a word has no meaning there.
std::string markdown_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_word = i > 0 && is_word(text[i - 1]) && i + 1 < text.size() && is_word(text[i + 1]);
    const bool begins_block = i == 0 && (c == '#' || c == '+' || c == '=');
    if (begins_block || (c == '_' && !in_word) || contains("\\`*<>[]|~&", text.substr(i, 1))) out += '\\';
    out += c;
  }
  return out;
}

std::string code_fence(std::string_view drawing) {
  std::string fence = "```";
  while (contains(drawing, fence)) fence += '`';
  return fence + "\n";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string shared_text(const std::string& value, const std::string& noun) {
  if (noun.empty()) return value;
  if (value == "0") return "no " + noun;
  const bool one = value == "1" && noun.ends_with('s');
  return value + " " + (one ? noun.substr(0, noun.size() - 1) : noun);
}

}  // namespace

std::string wrapped(std::string_view line, std::size_t width) {
  if (width == 0 || display_width(line) <= width) return std::string(line);
  const std::string indent(indent_of(line), ' ');
  std::string out(line.substr(0, indent.size()));
  std::size_t taken = out.size();
  bool is_first = true;
  for (const std::string& word : split(line.substr(indent.size()), ' ')) {
    const std::size_t wide = display_width(word);
    if (!is_first && taken + 1 + wide > width) {
      out += "\n" + indent;
      taken = indent.size();
    } else if (!is_first) {
      out += ' ';
      ++taken;
    }
    out += word;
    taken += wide;
    is_first = false;
  }
  return out;
}

std::string coloured(std::string_view text, Tone tone, bool colour) {
  constexpr const char* kCodes[] = {"", "\033[32m", "\033[31m", "\033[90m", "\033[1m"};
  if (!colour || tone == Tone::kPlain || text.empty()) return std::string(text);
  return kCodes[static_cast<std::size_t>(tone)] + std::string(text) + "\033[0m";
}

class Table::Text {
 public:
  Text(const Table& table, std::size_t width, bool colour) : table_(table), width_(width), colour_(colour) {
    for (const Column& column : table.columns_) widths_.push_back(display_width(column.title));
    for (const Row& row : table.rows_) {
      if (row.kind != Kind::kCells) continue;
      for (std::size_t i = 0; i < widths_.size(); ++i)
        widths_[i] = std::max(widths_[i], display_width(row.cells[i]));
    }
    shown_.resize(widths_.size());
    std::iota(shown_.begin(), shown_.end(), std::size_t{0});
    whole_width_ = total_width(shown_, kWhole);
    if (width_ == 0 || whole_width_ <= width_) return;
    choose_columns();
    cut_texts();
  }

  std::string whole() const {
    const std::string line =
        repeated("─", width_ == 0 ? whole_width_ : std::min(total_width(shown_, kWhole), width_));
    const std::string rule = coloured(line, Tone::kFaint, colour_) + '\n';
    const Row titles;
    std::string out = cells_text(titles, [&](std::size_t i) { return table_.columns_[i].title; }) + rule;
    for (const Row& row : table_.rows_) {
      if (row.kind == Kind::kRule) out += rule;
      if (row.kind == Kind::kLine)
        out += coloured(wrapped(without_trailing_blanks(row.cells[0]), width_), row.tone(0), colour_) + '\n';
      if (row.kind == Kind::kCells) out += cells_text(row, [&](std::size_t i) { return row.cells[i]; });
    }
    return out + left_out();
  }

 private:
  static constexpr std::size_t kWhole = static_cast<std::size_t>(-1);
  static constexpr std::size_t kReadable = 16, kLeast = 8;  ///< characters of a text that is cut

  bool is_text(std::size_t column) const { return table_.cut_of(column) != Cut::kNever; }

  /// `longest`: of texts.
  std::size_t total_width(const std::vector<std::size_t>& columns, std::size_t longest) const {
    std::size_t taken = columns.empty() ? 0 : kGapWidth * (columns.size() - 1);
    for (const std::size_t column : columns)
      taken += is_text(column) ? std::min(widths_[column], longest) : widths_[column];
    return taken;
  }

  /// Takes each column that fits with the keys and the more important columns.
  void choose_columns() {
    shown_.resize(std::min(table_.keys_, widths_.size()));
    const std::size_t keys = shown_.size();
    for (const Priority priority : {Priority::kFirst, Priority::kNormal, Priority::kLast}) {
      const std::size_t longest = priority == Priority::kLast ? kWhole : kReadable;
      for (std::size_t column = keys; column < widths_.size(); ++column) {
        if (table_.columns_[column].priority != priority) continue;
        shown_.push_back(column);
        if (total_width(shown_, longest) > width_) shown_.pop_back();
      }
    }
    std::ranges::sort(shown_);
  }

  void cut_texts() {
    for (const std::size_t least : {kReadable, kLeast}) {
      while (total_width(shown_, kWhole) > width_) {
        std::size_t* longest = nullptr;
        for (const std::size_t column : shown_) {
          if (is_text(column) && (longest == nullptr || widths_[column] > *longest))
            longest = &widths_[column];
        }
        if (longest == nullptr || *longest <= least) break;
        --*longest;
      }
    }
  }

  std::string left_out() const {
    std::vector<std::string> titles;
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      const std::string& title = table_.columns_[column].title;
      const bool is_new = std::ranges::find(titles, title) == titles.end();
      if (std::ranges::find(shown_, column) == shown_.end() && is_new) titles.push_back(title);
    }
    if (titles.empty()) return "";
    const std::string line = "  left out: " + join(titles, ", ") +
                             "; COLUMNS=" + std::to_string(whole_width_) + " or | less -S shows " +
                             (titles.size() == 1 ? "it" : "them");
    return coloured(wrapped(line, width_), Tone::kFaint, colour_) + '\n';
  }

  template <typename CellOf>
  std::string cells_text(const Row& row, CellOf cell_of) const {
    std::string line;
    for (const std::size_t column : shown_) {
      if (column != shown_.front()) line += kGap;
      const bool at_end = table_.cut_of(column) == Cut::kEnd;
      const std::string cell = (at_end ? shortened : cut_in_middle)(cell_of(column), widths_[column]);
      line += padded(cell, widths_[column], table_.columns_[column].align, row.tone(column), colour_);
    }
    return without_trailing_blanks(std::move(line)) + '\n';
  }

  const Table& table_;
  std::size_t width_, whole_width_ = 0;
  bool colour_;
  std::vector<std::size_t> widths_, shown_;
};

Table::Table(std::vector<Column> columns, std::size_t keys) : columns_(std::move(columns)), keys_(keys) {
  for (Column& column : columns_) column.title = one_line(std::move(column.title));
}

Table& Table::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::logic_error("a table row with more cells than columns");
  for (std::string& cell : cells) cell = one_line(std::move(cell));
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), Kind::kCells});
  return *this;
}

Table& Table::rule() {
  rows_.push_back({{}, Kind::kRule});
  return *this;
}

Table& Table::line(std::string text) {
  rows_.push_back({{one_line(std::move(text))}, Kind::kLine});
  return *this;
}

Table& Table::tone(std::size_t column, Tone tone) {
  std::vector<Tone>& tones = rows_.back().tones;
  if (tones.size() <= column) tones.resize(column + 1, Tone::kPlain);
  tones[column] = tone;
  return *this;
}

Table& Table::above(std::string text) {
  above_ += (above_.empty() ? "" : ", ") + one_line(std::move(text));
  return *this;
}

bool Table::is_shared(std::size_t column) const {
  const std::string* first = nullptr;
  for (const Row& row : rows_) {
    if (row.kind != Kind::kCells) continue;
    if (first == nullptr) first = &row.cells[column];
    if (row.cells[column] != *first) return false;
  }
  return first != nullptr && !first->empty();
}

bool Table::is_blank(std::size_t column) const {
  return std::ranges::all_of(rows_, [&](const Row& row) {
    return row.kind != Kind::kCells || row.cells[column].empty() || row.cells[column] == "-";
  });
}

Table Table::shown() const {
  Table table({}, 0);
  std::string shared;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (i > 0 && !rows_.empty() && is_blank(i)) continue;
    if (i > 0 && column.shared && is_shared(i)) {
      const auto row = std::ranges::find(rows_, Kind::kCells, &Row::kind);
      shared += (shared.empty() ? "" : ", ") + shared_text(row->cells[i], *column.shared);
      continue;
    }
    if (i < keys_) ++table.keys_;
    table.columns_.push_back(column);
    kept.push_back(i);
  }
  table.above_ = shared + (shared.empty() || above_.empty() ? "" : ", ") + above_;
  for (const Row& row : rows_) {
    Row& added = table.rows_.emplace_back(Row{{}, row.kind});
    if (row.kind == Kind::kLine) added = row;
    if (row.kind != Kind::kCells) continue;
    for (const std::size_t i : kept) {
      added.cells.push_back(row.cells[i]);
      added.tones.push_back(row.tone(i));
    }
  }
  return table;
}

std::string Table::text(std::size_t width, bool colour) const {
  const Table table = shown();
  const std::string above =
      table.above_.empty() ? "" : coloured(wrapped(table.above_, width), Tone::kFaint, colour) + "\n";
  return above + Text(table, width, colour).whole();
}

std::string Table::as(const TableForm& form) const {
  return form.markdown ? markdown() : text(form.width, form.colour);
}

std::string Table::markdown() const {
  const Table table = shown();
  std::string out = table.above_.empty() ? "|" : markdown_text(table.above_) + "\n\n|";
  for (const Column& column : table.columns_) out += " " + markdown_text(column.title) + " |";
  out += "\n|";
  for (const Column& column : table.columns_) out += column.align == Align::kRight ? " ---: |" : " --- |";
  out += "\n";
  for (const Row& row : table.rows_) {
    if (row.kind == Kind::kRule) continue;
    out += "|";
    for (std::size_t i = 0; i < table.columns_.size(); ++i) {
      out += " " + (i < row.cells.size() ? markdown_text(row.cells[i]) : std::string()) + " |";
    }
    out += "\n";
  }
  return out;
}

View& View::answer(std::string_view sentence, Tone tone) {
  for (const std::string& line : lines_of(sentence)) answer_.push_back({visible(line), tone});
  return *this;
}

View& View::title(std::string_view text) {
  parts_.push_back({Part::Kind::kTitle, Table({}), {{visible(text), Tone::kBold}}});
  return *this;
}

View& View::table(Table table) {
  if (table.size() > 0) parts_.push_back({Part::Kind::kTable, std::move(table)});
  return *this;
}

View& View::notes(std::string_view lines, Tone tone) {
  Part part{Part::Kind::kNotes};
  for (const std::string& line : lines_of(lines)) part.lines.push_back({visible(line), tone});
  if (!part.lines.empty()) parts_.push_back(std::move(part));
  return *this;
}

View& View::drawing(std::string_view lines) {
  Part part{Part::Kind::kDrawing};
  for (const std::string& line : lines_of(lines)) part.lines.push_back({visible(line), Tone::kPlain});
  if (!part.lines.empty()) parts_.push_back(std::move(part));
  return *this;
}

View& View::append(View other) {
  std::ranges::move(other.answer_, std::back_inserter(answer_));
  std::ranges::move(other.parts_, std::back_inserter(parts_));
  return *this;
}

std::vector<std::string> View::answers() const {
  std::vector<std::string> sentences;
  for (const Line& line : answer_) sentences.push_back(line.text);
  return sentences;
}

bool View::has_tables() const {
  return std::ranges::find(parts_, Part::Kind::kTable, &Part::kind) != parts_.end();
}

std::string View::part_text(const Part& part, const TableForm& form) const {
  if (part.kind == Part::Kind::kTable) return part.table.as(form);
  const bool is_drawing = part.kind == Part::Kind::kDrawing;
  std::string text;
  for (const auto& [line, tone] : part.lines) {
    if (form.markdown && is_drawing) {
      text += line;
    } else if (form.markdown) {
      text += (part.kind == Part::Kind::kTitle ? "### " : "") + markdown_text(line);
    } else {
      const std::size_t width = is_drawing || form.width == 0 ? 0 : std::min(form.width, kProseWidth);
      text += coloured(wrapped(line, width), tone, form.colour);
    }
    text += "\n";
  }
  const std::string fence = is_drawing && form.markdown ? code_fence(text) : "";
  return fence + text + fence;
}

std::string View::text(const TableForm& form) const {
  std::string out;
  for (const auto& [sentence, tone] : answer_) {
    const std::size_t width = form.width == 0 ? 0 : std::min(form.width, kProseWidth);
    out += form.markdown ? markdown_text(sentence) + "  \n"
                         : coloured(wrapped(sentence, width), tone, form.colour) + "\n";
  }
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    // Markdown needs empty lines around tables, which follow their titles directly.
    const bool close =
        part.kind == Part::Kind::kNotes || (before != nullptr && before->kind == Part::Kind::kTitle);
    const bool is_apart = !close || (form.markdown && before != nullptr && before->kind != part.kind);
    if (!out.empty() && is_apart) out += "\n";
    out += part_text(part, form);
    before = &part;
  }
  if (form.markdown && before != nullptr && before->kind == Part::Kind::kTable) out += "\n";
  return out;
}

}  // namespace headroom
