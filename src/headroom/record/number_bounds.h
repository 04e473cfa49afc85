// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "headroom/record/record.h"

namespace headroom {

// Bounds of the magnitude of every number of a result, 0 excepted. Sums, squares and ratios of such numbers
// stay finite.
inline constexpr double kMinMagnitude = 1e-100, kMaxMagnitude = 1e100;

/// False for NaN.
constexpr bool is_bounded(double number) {
  const double magnitude = number < 0 ? -number : number;
  return magnitude == 0 || (magnitude >= kMinMagnitude && magnitude <= kMaxMagnitude);
}

/// Makes a record with a number beyond the bounds a failed one without numbers. Its reason names the number,
/// its field and `where()`. Removes intervals beyond the bounds. NaN stands for a value that is missing.
void fail_if_unbounded(Record& record, const std::function<std::string()>& where);

}  // namespace headroom
