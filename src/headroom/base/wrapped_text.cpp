// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/wrapped_text.h"

#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Where lines after the first begin.
std::size_t indent_of(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  const bool is_mark = line.substr(begin + 1).starts_with("  ");
  if (is_mark) return begin + 3;
  return line.substr(begin).starts_with("- ") ? begin + 2 : begin;
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

}  // namespace headroom
