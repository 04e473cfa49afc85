// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/svg_text.h"

#include <algorithm>
#include <cctype>

#include "headroom/base/markup_text.h"

namespace headroom {
namespace {

/// Of the font's size.
constexpr double kWide = 1.08, kUpper = 0.82, kLower = 0.64, kNarrow = 0.46;
constexpr double kAscent = 1.0, kDescent = 0.25;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

double width_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80 || std::string_view("mMW@%").find(c) != std::string_view::npos) return kWide;
  if (std::isupper(byte) != 0 || std::string_view("w+=<>~^#&").find(c) != std::string_view::npos)
    return kUpper;
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || c == '?' || c == '*' ? kLower : kNarrow;
}

/// Bytes of the longest start of `text` that has room, whole characters, one at least.
std::size_t fitting(std::string_view text, double room, double font_size) {
  double width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (continues_character(text[i])) continue;
    width += width_of(text[i]) * font_size;
    if (i > 0 && width > room) return i;
  }
  return text.size();
}

}  // namespace

std::string xml_text(std::string_view text) {
  return markup_text(text, " ");
}

double svg_text_width(std::string_view text, double font_size) {
  double width = 0;
  for (const char c : text) {
    if (!continues_character(c)) width += width_of(c);
  }
  return width * font_size;
}

std::vector<std::string> svg_lines(std::string_view text, double room, double font_size) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = fitting(text, room, font_size);
    if (end < text.size()) {
      const std::size_t space = text.rfind(' ', end);
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

SvgBox svg_text_box(double x, double y, std::string_view text, double font_size) {
  return {x, y - kAscent * font_size, x + svg_text_width(text, font_size), y + kDescent * font_size};
}

}  // namespace headroom
