// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/sheet.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/wrapped_text.h"

namespace headroom {
namespace {

/// The lines of a text, without an empty one behind its last line end.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

Sheet& Sheet::answer(std::string sentence, Tone tone) {
  for (const std::string& line : lines_of(sentence)) answer_.push_back({visible(line), tone});
  return *this;
}

Sheet& Sheet::title(std::string text) {
  parts_.push_back({Part::Kind::kTitle, Table({}), {{visible(text), Tone::kFirst}}});
  return *this;
}

Sheet& Sheet::table(Table table) {
  if (table.size() > 0) parts_.push_back({Part::Kind::kTable, std::move(table)});
  return *this;
}

Sheet& Sheet::notes(std::string_view lines, Tone tone) {
  Part part{Part::Kind::kNotes};
  for (const std::string& line : lines_of(lines)) part.lines.push_back({visible(line), tone});
  if (!part.lines.empty()) parts_.push_back(std::move(part));
  return *this;
}

Sheet& Sheet::drawing(std::string lines) {
  Part part{Part::Kind::kDrawing};
  for (const std::string& line : lines_of(lines)) part.lines.push_back({visible(line), Tone::kPlain});
  if (!part.lines.empty()) parts_.push_back(std::move(part));
  return *this;
}

Sheet& Sheet::append(Sheet other) {
  std::ranges::move(other.answer_, std::back_inserter(answer_));
  std::ranges::move(other.parts_, std::back_inserter(parts_));
  return *this;
}

std::vector<std::string> Sheet::answers() const {
  std::vector<std::string> sentences;
  for (const Line& line : answer_) sentences.push_back(line.text);
  return sentences;
}

bool Sheet::has_tables() const {
  return std::ranges::find(parts_, Part::Kind::kTable, &Part::kind) != parts_.end();
}

std::string Sheet::part_text(const Part& part, const TableForm& form) const {
  if (part.kind == Part::Kind::kTable) return part.table.as(form);
  const bool is_drawing = part.kind == Part::Kind::kDrawing;
  std::string text = is_drawing && form.markdown ? "```\n" : "";
  for (const auto& [line, tone] : part.lines) {
    if (form.markdown) {
      text += (part.kind == Part::Kind::kTitle ? "### " : "") + line;
    } else {
      const std::size_t width = is_drawing || form.width == 0 ? 0 : std::min(form.width, kProseWidth);
      text += toned(wrapped(line, width), tone, form.colour);
    }
    text += "\n";
  }
  return text + (is_drawing && form.markdown ? "```\n" : "");
}

std::string Sheet::text(const TableForm& form) const {
  std::string out;
  for (const auto& [sentence, tone] : answer_) {
    const std::size_t width = form.markdown || form.width == 0 ? 0 : std::min(form.width, kProseWidth);
    out += toned(wrapped(sentence, width), tone, form.colour) + (form.markdown ? "  \n" : "\n");
  }
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    // A table stands close to its title, notes to their table; Markdown wants empty lines around tables.
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
