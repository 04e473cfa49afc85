// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// --precision, --min-time, --max-time and --num-samples as they were given; empty or 0: not given.
struct StopOptions {
  std::string precision, min_time, max_time;
  std::size_t num_samples = 0;  ///< so many, however precise they are; --max-time may still cut them short
};

/// `rule` with what was given in place of its own. The least time is never above the most. Throws Error.
StopRule stop_rule_with(StopRule rule, const StopOptions& given);

}  // namespace headroom::cli
