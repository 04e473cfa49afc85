// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom {

enum class Align { kLeft, kRight };

/// What every command prints: a grid of text with aligned columns. A row may be a rule or a section title.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);

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
  std::string text() const;
  /// A GitHub-flavoured Markdown table; '|' in cells is escaped.
  std::string markdown() const;

 private:
  enum class Kind { kCells, kRule, kLine };
  struct Row {
    std::vector<std::string> cells;
    Kind kind = Kind::kCells;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace headroom
