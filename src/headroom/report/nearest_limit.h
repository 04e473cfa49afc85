// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// For each case of several backends or runners a line that says who needs the least time, and so is nearest
/// the limit of the problem, which of the others comes next, and by how much (the interval where the nearest
/// is the one that all are compared with):
///   nearest the limit: gemv D=4096 bf16: native (88.1 % ±0.6), then onednn_packed: 1.312 x the time (1.297
///   to 1.330)
/// Empty where nothing is compared. A line each, with its end.
std::string nearest_limit_text(const std::vector<Record>& records);

}  // namespace headroom
