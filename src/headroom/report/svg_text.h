// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Text in an SVG document, of which nobody knows in what font it will be shown. Sizes in pixels.

/// `text` with what XML takes for its own spelled out, and control characters as spaces.
std::string xml_text(std::string_view text);

/// At least as wide as `text` is in any common font: those of Verdana, the widest, rounded up.
double svg_text_width(std::string_view text, double font_size);

/// `text` in lines of at most `room`, broken at spaces, and within a word that is wider.
std::vector<std::string> svg_lines(std::string_view text, double room, double font_size);

struct SvgBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const SvgBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Where a line of text whose base line starts at (x, y) lies.
SvgBox svg_text_box(double x, double y, std::string_view text, double font_size);

}  // namespace headroom
