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

/// A run with a --max-time from here on ends within it and the sample that it is in, all that runners do
/// included; a shorter one is of the sampling of each group, for starting programs alone takes seconds.
inline constexpr double kLeastRunTimeNs = 5e9;

/// The second half of the help of --max-time: the first says what a shorter one is of.
inline constexpr const char* kRunTimeHelp =
    "; from 5s on of the whole run, which ends with the sample that it is in: what it does not reach is a row "
    "that says so";

/// Returns --max-time as the time of the whole run; infinity if it is not given, or less than
/// kLeastRunTimeNs. Throws Error.
double run_time_ns(const StopOptions& given);

/// "not reached within --max-time 5.00 s".
std::string not_reached(double run_time_ns);

}  // namespace headroom::cli
