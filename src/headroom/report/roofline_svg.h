// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/report/roofline.h"

namespace headroom {

/// Text in an SVG document that may be shown in any font. Sizes are in pixels.

/// Escapes `text` for XML; control characters become spaces.
std::string xml_text(std::string_view text);

/// Returns an upper bound of the text's width in any common font: that of Verdana, the widest, rounded up.
double svg_text_width(std::string_view text, double font_size);

/// Breaks `text` into lines of at most `room`, at spaces, and within words that are too long.
std::vector<std::string> svg_lines(std::string_view text, double room, double font_size);

struct SvgBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const SvgBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Returns the box of a line of text with its baseline starting at (x, y).
SvgBox svg_text_box(double x, double y, std::string_view text, double font_size);

/// Returns the plot as a self-contained SVG document: roofs as lettered lines, cases as numbered points with
/// intervals, and a legend with names and figures. Everything fits into the viewBox in any common font, and
/// is readable on light and dark backgrounds.
std::string roofline_svg(const Roofline& roofline, const std::string& title);

}  // namespace headroom
