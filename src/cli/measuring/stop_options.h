// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// As given; empty or 0: not given.
struct StopOptions {
  std::string precision, min_time, max_time;
  std::size_t num_samples = 0;  ///< exact, unless --max-time ends them
};

/// Overrides `rule` by the given options. Throws Error.
StopRule override_stop_rule(StopRule rule, const StopOptions& given);

/// From this time on --max-time limits the whole run; shorter times limit the sampling of each group, as
/// starting programs takes seconds.
inline constexpr double kMinRunTimeNs = 5e9;

/// Follows the first half of the help of --max-time.
inline constexpr const char* kRunTimeHelp =
    "; from 5s also of the whole run: cases not reached are listed as such";

/// Returns --max-time if it limits the whole run, else infinity. Throws Error.
double run_time_ns(const StopOptions& given);

/// "not reached within --max-time 5.00 s".
std::string not_reached_text(double run_time_ns);

}  // namespace headroom::cli
