// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/stats/stopping.h"

namespace headroom {

/// The share of each of `processes` in the rule for all of them. Precision grows with the square root of the
/// samples, so that of one process has a wider goal.
StopRule process_share(const StopRule& rule, int processes);

}  // namespace headroom
