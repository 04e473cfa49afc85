// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// Wraps `line` at blanks to at most `width` characters; 0: no limit. Continuation lines are indented to the
/// first word, or to the text after a one-letter flag ("  B  busy: ..."). Longer words get separate lines.
std::string wrapped(std::string_view line, std::size_t width);

enum class Align { kLeft, kRight };

/// Colours: green, red, faint grey, bold.
enum class Tone { kPlain, kGood, kBad, kFaint, kBold };

std::string coloured(std::string_view text, Tone tone, bool colour);

struct TableForm {
  bool markdown = false;
  std::size_t width = 0;  ///< terminal width in characters; 0: no limit
  bool colour = false;
};

/// Which columns a narrow terminal keeps: the first ones always, the last ones only with whole keys.
enum class Priority { kFirst, kNormal, kLast };

/// Where "…" replaces text that does not fit. Numbers are never cut.
enum class Cut { kNever, kMiddle, kEnd };

/// Aligned columns, rules and full-width lines. Hides columns that are empty ("", "-") in every row, except
/// the first.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    /// If set, a value shared by all rows is shown above the table, followed by this text ("ranks").
    std::optional<std::string> shared{};
    Priority priority = Priority::kNormal;
    Cut cut = Cut::kNever;
  };

  /// The first `keys` columns identify a row.
  explicit Table(std::vector<Column> columns, std::size_t keys = 1);

  /// Missing cells are empty; too many throw std::logic_error.
  Table& row(std::vector<std::string> cells);
  Table& rule();
  /// Full-width line, such as a title or a remark on the row above. In Markdown the first cell of a row.
  Table& line(std::string text);

  /// Applies to the last row.
  Table& tone(std::size_t column, Tone tone);
  /// For all rows: "2 threads".
  Table& above(std::string text);

  std::size_t size() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }

  /// Two spaces between columns, no trailing blanks.
  ///
  /// `width`: characters per line; 0: no limit. In a wider table, long keys aligned left are cut in the
  /// middle, and columns that do not fit are left out by priority, then from the right; a line below names
  /// them. Wraps remarks (line()). Only keys that alone do not fit exceed the width.
  std::string text(std::size_t width = 0, bool colour = false) const;
  /// GitHub-flavoured; escapes '|' in cells.
  std::string markdown() const;
  std::string as(const TableForm& form) const;

 private:
  enum class Kind { kCells, kRule, kLine };
  struct Row {
    std::vector<std::string> cells;
    Kind kind = Kind::kCells;
    std::vector<Tone> tones{};  ///< missing ones are plain

    Tone tone(std::size_t column) const { return column < tones.size() ? tones[column] : Tone::kPlain; }
  };
  class Text;
  /// Keys aligned left can always be cut, and so can a single further column.
  Cut cut_of(std::size_t column) const {
    const Column& one = columns_[column];
    if (one.cut != Cut::kNever || one.align == Align::kRight) return one.cut;
    if (column < keys_) return Cut::kMiddle;
    return columns_.size() == keys_ + 1 ? Cut::kEnd : Cut::kNever;
  }
  bool is_shared(std::size_t column) const;
  bool is_blank(std::size_t column) const;
  /// Removes hidden columns and moves shared values above.
  Table shown() const;

  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<Row> rows_;
  std::string above_;
};

class Columns : public std::vector<Table::Column> {
 public:
  Columns& left(std::initializer_list<std::string> titles) { return add(titles, Align::kLeft); }
  Columns& right(std::initializer_list<std::string> titles) { return add(titles, Align::kRight); }
  /// Texts that may be cut.
  Columns& text(std::string title, Cut cut = Cut::kMiddle) {
    push_back({std::move(title), Align::kLeft, {}, priority_, cut});
    return *this;
  }
  Columns& shared(std::string title, Align align, std::string suffix) {
    push_back({std::move(title), align, std::move(suffix), priority_});
    return *this;
  }
  /// For the columns added from here on.
  Columns& priority(Priority priority) {
    priority_ = priority;
    return *this;
  }

 private:
  Priority priority_ = Priority::kNormal;

  Columns& add(std::initializer_list<std::string> titles, Align align) {
    for (const std::string& title : titles) push_back({title, align, {}, priority_});
    return *this;
  }
};

/// Answer of a command in sentences, tables and notes, for every output form.
class View {
 public:
  View& answer(std::string_view sentence, Tone tone = Tone::kPlain);
  View& title(std::string_view text);
  /// Ignores a table without rows.
  View& table(Table table);
  /// Each line is wrapped separately.
  View& notes(std::string_view lines, Tone tone = Tone::kFaint);
  /// Preformatted lines, such as plots.
  View& drawing(std::string_view lines);
  View& append(View other);

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
