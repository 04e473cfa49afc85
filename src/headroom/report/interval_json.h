// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom {

/// Returns an end of the interval, or null.
inline Json low_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->low) : Json(nullptr);
}
inline Json high_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->high) : Json(nullptr);
}
/// Returns both ends and the confidence, or null.
inline Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", interval->confidence}};
}

}  // namespace headroom
