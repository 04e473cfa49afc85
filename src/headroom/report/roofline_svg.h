// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/report/roofline.h"

namespace headroom {

/// The plot as an SVG document that needs nothing else: roofs as labelled lines, cases as numbered points
/// with the ends of their intervals, a legend with the figures.
std::string roofline_svg(const Roofline& roofline, const std::string& title);

}  // namespace headroom
