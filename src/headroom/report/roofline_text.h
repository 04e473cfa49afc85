// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/base/sheet.h"
#include "headroom/report/roofline.h"

namespace headroom {

/// For a terminal: which case is furthest from its limit and what bounds how many, the plot with a letter for
/// each case and a digit at the ends of each roof, a table of the cases, a table of the roofs, and what was
/// left out. `width`: of the terminal, which the plot is to fit; 0 for no limit.
Sheet roofline_sheet(const Roofline& roofline, std::size_t width = 0);

}  // namespace headroom
