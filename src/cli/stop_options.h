// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// --precision, --min-time and --max-time as they were given; empty: not given.
struct StopOptions {
  std::string precision, min_time, max_time;
};

/// `rule` with what was given in place of its own. The least time is never above the most. Throws Error.
StopRule stop_rule_with(StopRule rule, const StopOptions& given);

}  // namespace headroom::cli
