// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class Align { kLeft, kRight };

/// What a text is to its reader, whom a colour tells beside the words: good is green, bad is red, what
/// matters little is grey, what comes first is bold.
enum class Tone { kPlain, kGood, kBad, kFaint, kFirst };

/// `text` in the colour of `tone` on a terminal that has colours.
std::string toned(std::string_view text, Tone tone, bool colour);

/// How tables are shown.
struct TableForm {
  bool markdown = false;
  std::size_t width = 0;  ///< of the terminal, in characters; 0: no limit
  bool colour = false;    ///< whether it shows colours, and the reader wants them
};

/// What every command prints: a grid of text with aligned columns. A row may be a rule or a section title.
/// Columns that say nothing in any row ("", "-") are not shown, but for the first.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    /// Given: what is the same in all rows stands once above the table, with this behind it ("ranks").
    std::optional<std::string> shared{};
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

  /// The colour of a cell of the last row.
  Table& tone(std::size_t column, Tone tone);
  /// One thing more that holds for all rows: "2 threads".
  Table& above(std::string text);

  std::size_t size() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }

  /// Text for a terminal: two spaces between columns, no trailing blanks, a line end after each row.
  ///
  /// `width`: characters in a line of that terminal; 0 is no limit. Nothing is left out of a table that is
  /// wider, for a measurement is not repeated to see a column. Where it then fits, long cells of the first
  /// column get a line of their own; else the columns are parted into blocks below each other, each with the
  /// keys again. Remarks (line()) are wrapped. Only a key and a column that are wider together exceed the
  /// width.
  std::string text(std::size_t width = 0, bool colour = false) const;
  /// A GitHub-flavoured Markdown table; '|' in cells is escaped.
  std::string markdown() const;
  /// The one or the other.
  std::string as(const TableForm& form) const;

 private:
  enum class Kind { kCells, kRule, kLine };
  struct Row {
    std::vector<std::string> cells;
    Kind kind = Kind::kCells;
    std::vector<Tone> tones{};  ///< by cell; those behind the last are plain

    Tone tone(std::size_t column) const { return column < tones.size() ? tones[column] : Tone::kPlain; }
  };
  class Text;
  /// Whether all rows of cells have the same in it, and any row has something in it.
  bool is_shared(std::size_t column) const;
  bool says_nothing(std::size_t column) const;
  /// The columns that are shown, and above them what all rows share.
  Table shown() const;

  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<Row> rows_;
  std::string above_;
};

}  // namespace headroom
