// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/table.h"

#include <algorithm>
#include <stdexcept>

#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr const char* kGap = "  ";
constexpr std::size_t kGapWidth = 2;

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// A cell is one line: a line end or a tab in it would break the grid.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t taken = display_width(text);
  const std::string blanks(width > taken ? width - taken : 0, ' ');
  return align == Align::kRight ? blanks + text : text + blanks;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
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

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_) {
    if (row.kind != Kind::kCells) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row.cells[i]));
  }
  std::size_t total = columns_.empty() ? 0 : kGapWidth * (columns_.size() - 1);
  for (const std::size_t width : widths) total += width;

  std::string out;
  const auto add_line = [&out](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  const auto add_cells = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += kGap;
      line += padded(cell_of(i), widths[i], columns_[i].align);
    }
    add_line(std::move(line));
  };
  add_cells([&](std::size_t i) { return columns_[i].title; });
  add_line(repeated("─", total));
  for (const Row& row : rows_) {
    if (row.kind == Kind::kRule) add_line(repeated("─", total));
    if (row.kind == Kind::kLine) add_line(row.cells[0]);
    if (row.kind == Kind::kCells) add_cells([&](std::size_t i) { return row.cells[i]; });
  }
  return out;
}

std::string Table::markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) out += " " + markdown_cell(column.title) + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.align == Align::kRight ? " ---: |" : " --- |";
  out += "\n";
  for (const Row& row : rows_) {
    if (row.kind == Kind::kRule) continue;
    out += "|";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      out += " " + (i < row.cells.size() ? markdown_cell(row.cells[i]) : std::string()) + " |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace headroom
