// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "headroom/base/json.h"

namespace headroom::trace {

/// JSON has no infinities and NaN; a plain string would be a text cell.
inline Json real_json(double value) {
  if (std::isfinite(value)) return value;
  return Json{{"real", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

inline double real_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.at("real").get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return text == "nan" ? std::numeric_limits<double>::quiet_NaN() : text == "inf" ? kInfinity : -kInfinity;
}

}  // namespace headroom::trace
