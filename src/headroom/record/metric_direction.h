// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom {

/// Guesses which direction of another tool's metric is better. The last known word decides ("hit_latency":
/// lower). Rates are better higher, except of faults ("misses/s").
Direction guessed_direction(std::string_view metric, std::string_view unit);

/// Returns the JSON of "lower_is_better"; null if unknown.
Json lower_is_better(Direction direction);

}  // namespace headroom
