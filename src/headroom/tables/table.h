// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Wraps `line` at blanks to at most `width` characters; 0 means no limit. Continuation lines are indented to
/// the first word, or below the text of a one-letter mark ("  B  busy: ..."). Longer words get lines of their
/// own. Does not end in a line break.
std::string wrapped(std::string_view line, std::size_t width);

enum class Align { kLeft, kRight };

/// Meaning of a text, shown by a colour in addition to the words: good is green, bad is red, faint is grey,
/// first is bold.
enum class Tone { kPlain, kGood, kBad, kFaint, kFirst };

/// `text` in the terminal colour of `tone`, if `colour`.
std::string toned(std::string_view text, Tone tone, bool colour);

/// Output form of tables.
struct TableForm {
  bool markdown = false;
  std::size_t width = 0;  ///< of the terminal in characters; 0: no limit
  bool colour = false;    ///< the terminal shows colours and the reader wants them
};

/// A grid of text with aligned columns. A row may be a rule or a line over the full width. Columns that are
/// empty ("", "-") in every row are hidden, except the first.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    /// If given, a value shared by all rows is shown once above the table, followed by this text ("ranks").
    std::optional<std::string> shared{};
  };

  /// The first `keys` columns identify a row.
  explicit Table(std::vector<Column> columns, std::size_t keys = 1);

  /// Adds a row. Missing cells are empty; too many cells are a std::logic_error.
  Table& row(std::vector<std::string> cells);
  /// Draws a rule before the next row.
  Table& rule();
  /// Adds a line over the full width, such as a section title or a remark on the row above. It widens no
  /// column. In Markdown it is the first cell of a row.
  Table& line(std::string text);

  /// Sets the tone of a cell of the last row.
  Table& tone(std::size_t column, Tone tone);
  /// Adds text that holds for all rows: "2 threads".
  Table& above(std::string text);

  std::size_t size() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }

  /// Text for a terminal: two spaces between columns, no trailing blanks, a line break after each row.
  ///
  /// `width`: characters per line of the terminal; 0 means no limit. A wider table loses nothing: long cells
  /// of the first column get lines of their own, or else the columns are split into blocks below each other
  /// that repeat the keys. Remarks (line()) are wrapped. Only a key and a column that are wider together
  /// exceed the width.
  std::string text(std::size_t width = 0, bool colour = false) const;
  /// A GitHub-flavoured Markdown table; escapes '|' in cells.
  std::string markdown() const;
  /// text() or markdown().
  std::string as(const TableForm& form) const;

 private:
  enum class Kind { kCells, kRule, kLine };
  struct Row {
    std::vector<std::string> cells;
    Kind kind = Kind::kCells;
    std::vector<Tone> tones{};  ///< per cell; missing ones are plain

    Tone tone(std::size_t column) const { return column < tones.size() ? tones[column] : Tone::kPlain; }
  };
  class Text;
  /// Whether the column has the same non-empty value in all rows.
  bool is_shared(std::size_t column) const;
  bool says_nothing(std::size_t column) const;
  /// The table without hidden columns, with shared values above it.
  Table shown() const;

  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<Row> rows_;
  std::string above_;
};

/// Output of a command: the answer in sentences first, then tables and notes, for every output form.
class Sheet {
 public:
  /// Adds a sentence of the answer. The answer precedes everything else.
  Sheet& answer(std::string sentence, Tone tone = Tone::kPlain);
  /// Adds the title of the next part.
  Sheet& title(std::string text);
  /// A table without rows is left out.
  Sheet& table(Table table);
  /// Adds lines below the previous part, each wrapped by itself. Empty text adds nothing.
  Sheet& notes(std::string_view lines, Tone tone = Tone::kFaint);
  /// Adds preformatted lines, such as plots.
  Sheet& drawing(std::string lines);
  /// Appends the answer of `other` to the answer and its parts to the parts.
  Sheet& append(Sheet other);

  std::vector<std::string> answers() const;
  bool has_tables() const;
  /// Wraps sentences at the width, at most at kProseWidth. Escapes terminal control characters.
  std::string text(const TableForm& form = {}) const;

  static constexpr std::size_t kProseWidth = 100;

 private:
  struct Line {
    std::string text;
    Tone tone = Tone::kPlain;
  };
  struct Part {
    enum class Kind { kTitle, kTable, kNotes, kDrawing };
    Kind kind;
    Table table{{}};
    std::vector<Line> lines{};
  };
  std::string part_text(const Part& part, const TableForm& form) const;

  std::vector<Line> answer_;
  std::vector<Part> parts_;
};

}  // namespace headroom
