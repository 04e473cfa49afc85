// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/report/roofline.h"

namespace headroom {

/// The plot as an SVG document that needs nothing else: roofs as lettered lines, cases as numbered points
/// with the ends of their intervals, below it a legend with the names and figures. All of it lies within the
/// viewBox in any common font, and it is readable on a light and on a dark ground.
std::string roofline_svg(const Roofline& roofline, const std::string& title);

}  // namespace headroom
