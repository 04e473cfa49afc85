// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/tables/width.h"

namespace headroom::cli {
namespace {

constexpr std::size_t kIndent = 2, kMaxNameColumns = 24, kMaxExampleColumns = 40;

/// Appends `text` from display column `at` on.
void append_wrapped(std::string& out, std::string_view text, std::size_t at, std::size_t indent,
                    std::size_t width) {
  for (const std::string& word : split(std::string(text), ' ')) {
    const std::size_t columns = display_width(word);
    if (at > indent && at + 1 + columns > width) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += columns;
  }
  out += '\n';
}

std::string option_name(const Option& option) {
  std::string name;
  for (const std::string& one : option.all_names()) name += (name.empty() ? "" : ", ") + one;
  if (name.starts_with("--") && !option.is_operand()) name = "    " + name;
  if (option.is_operand()) return name;
  const std::string value = option.value_text();
  return value.empty() ? name : name + " " + value;
}

std::string usage(const OptionTable& table) {
  std::string text = fmt::format("usage: {} [OPTIONS]", table.name());
  for (const Option& option : table.options()) {
    if (!option.is_operand()) continue;
    const std::string name = option.names + (option.is_list() ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text;
}

struct Group {
  std::string title;
  std::vector<HelpEntry> entries;
};

/// `text` begins at `column`.
void append_entry(std::string& out, std::string_view name, std::string_view text, std::size_t column,
                  std::size_t width) {
  out += std::string(kIndent, ' ');
  out += name;
  std::size_t at = kIndent + display_width(name);
  if (text.empty()) {
    out += '\n';
    return;
  }
  if (at + 2 > column) {
    out += '\n';
    at = 0;
  }
  out += std::string(column - at, ' ');
  append_wrapped(out, text, column, column, width);
}

void append_groups(std::string& out, const std::vector<Group>& groups, std::size_t most, std::size_t width) {
  for (const Group& group : groups) {
    std::size_t column = 0;
    for (const HelpEntry& entry : group.entries) {
      const std::size_t columns = display_width(entry.name);
      if (columns <= most) column = std::max(column, columns);
    }
    out += '\n' + group.title + ":\n";
    for (const HelpEntry& entry : group.entries)
      append_entry(out, entry.name, entry.text, kIndent + (column > 0 ? column : most) + 2, width);
  }
}

Group& group_of(std::vector<Group>& groups, const std::string& title) {
  const auto found = std::ranges::find(groups, title, &Group::title);
  return found != groups.end() ? *found : groups.emplace_back(Group{title, {}});
}

}  // namespace

std::string OptionTable::help(std::size_t width) const {
  std::string out;
  append_wrapped(out, description(), 0, 0, width);
  out += '\n';
  append_wrapped(out, usage(*this), 0, 0, width);
  std::vector<Group> groups;
  for (const Option& option : options())
    group_of(groups, option.is_operand() ? "operands" : option.group)
        .entries.push_back({option_name(option), option.help});
  append_groups(out, groups, kMaxNameColumns, width);
  std::vector<Group> words;
  for (const auto& [title, entry] : lists()) group_of(words, title).entries.push_back(entry);
  append_groups(out, words, kMaxNameColumns, width);
  for (const std::string& paragraph : details()) {
    out += '\n';
    append_wrapped(out, paragraph, 0, 0, width);
  }
  if (!examples().empty()) append_groups(out, {{"examples", examples()}}, kMaxExampleColumns, width);
  return out;
}

}  // namespace headroom::cli
