// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom {

enum class Align { kLeft, kRight };

/// How tables are shown.
struct TableForm {
  bool markdown = false;
  std::size_t width = 0;  ///< of the terminal, in characters; 0: no limit
};

/// What every command prints: a grid of text with aligned columns. A row may be a rule or a section title.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  /// The first `keys` columns say what a row is about.
  explicit Table(std::vector<Column> columns, std::size_t keys = 1);

  /// Adds a row; missing cells are empty, more cells than columns are an std::logic_error.
  Table& row(std::vector<std::string> cells);
  /// A line across the table before the next row.
  Table& rule();
  /// A line of text over the whole width that widens no column: the title of a section, or a remark on the
  /// row above. In Markdown it is the first cell of a row.
  Table& line(std::string text);

  std::size_t size() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }

  /// Text for a terminal: two spaces between columns, no trailing blanks, a line end after each row.
  ///
  /// `width`: characters in a line of that terminal; 0 is no limit. Nothing is left out of a table that is
  /// wider, for a measurement is not repeated to see a column. Where it then fits, long cells of the first
  /// column get a line of their own; else the columns are parted into blocks below each other, each with the
  /// keys again. Only a key and a column that are wider together, and remarks (line()), exceed the width.
  std::string text(std::size_t width = 0) const;
  /// A GitHub-flavoured Markdown table; '|' in cells is escaped.
  std::string markdown() const;
  /// The one or the other.
  std::string as(const TableForm& form) const;

 private:
  enum class Kind { kCells, kRule, kLine };
  struct Row {
    std::vector<std::string> cells;
    Kind kind = Kind::kCells;
  };
  class Text;
  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<Row> rows_;
};

}  // namespace headroom
