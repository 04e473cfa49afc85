// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/sheet.h"
#include "headroom/report/roofline.h"

namespace headroom {

/// For a terminal: which case is furthest from its limit and what bounds how many, the plot with a letter for
/// each case and a digit at the ends of each roof, a table of the cases, a table of the roofs, and what was
/// left out.
Sheet roofline_sheet(const Roofline& roofline);

}  // namespace headroom
