// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/report/roofline.h"

namespace headroom {

/// For a terminal: the plot with a letter for each case and a digit at the ends of each roof, a table of the
/// cases, a table of the roofs, and what was left out.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string roofline_text(const Roofline& roofline, std::size_t width = 0);

}  // namespace headroom
