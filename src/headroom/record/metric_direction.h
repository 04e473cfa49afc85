// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom {

/// Guesses which way a metric of another tool is better, from the words of its name, whatever their case, and
/// its unit. The last word that is known decides ("hit_latency": lower, "miss_bandwidth": higher). Amounts
/// per time are better higher ("frames per second", "MB/sec"), unless they are faults ("misses/s"). Unknown
/// if neither name nor unit says it ("widgets").
Direction guessed_direction(std::string_view metric, std::string_view unit);

/// Returns true or false as files have it under "lower_is_better"; null if the direction is unknown.
Json lower_is_better(Direction direction);

}  // namespace headroom
