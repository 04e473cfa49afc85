// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/table.h"

namespace headroom {

/// What an instrument shows: the answer first, in sentences, then tables with what is to be known to read
/// them. All that commands show of results is one, whatever the form that it is shown in.
class Sheet {
 public:
  /// A sentence of the answer. Sentences stand above all else, in the order in which they came.
  Sheet& answer(std::string sentence, Tone tone = Tone::kPlain);
  /// What the next part is about.
  Sheet& title(std::string text);
  /// Left out where it has no rows.
  Sheet& table(Table table);
  /// Lines below what came before, each wrapped by itself; nothing where they are empty.
  Sheet& notes(std::string_view lines, Tone tone = Tone::kFaint);
  /// Lines that are what they are, such as plots.
  Sheet& drawing(std::string lines);
  /// All of another one: its answer behind this one's, its parts behind these.
  Sheet& append(Sheet other);

  std::vector<std::string> answers() const;
  bool has_tables() const;
  /// For a terminal or a file, or as Markdown. Sentences are wrapped at the width, and at kProseWidth where
  /// a terminal is wider. What could steer a terminal is spelled.
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
