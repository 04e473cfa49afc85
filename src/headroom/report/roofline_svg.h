// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/report/roofline.h"

namespace headroom {

/// Escapes for XML; control characters become spaces.
std::string xml_text(std::string_view text);

/// Returns an upper bound in pixels for common fonts, based on Verdana, the widest.
double svg_text_width(std::string_view text, double font_size);

/// Wraps to `room` pixels, within words if necessary.
std::vector<std::string> svg_lines(std::string_view text, double max_width, double font_size);

struct SvgBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const SvgBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

SvgBox svg_text_box(double x, double y, std::string_view text, double font_size);

/// Returns a self-contained SVG that fits into its viewBox in common fonts, for light and dark backgrounds.
std::string roofline_svg(const Roofline& roofline, const std::string& title);

}  // namespace headroom
