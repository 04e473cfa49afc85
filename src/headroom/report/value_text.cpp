// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/value_text.h"

#include <array>
#include <utility>

#include "headroom/base/units.h"

namespace headroom {

std::string value_text(double value, const std::string& unit, const std::string& metric) {
  constexpr std::array<std::pair<const char*, double>, 5> kTimes{
      {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, ns] : kTimes) {
    if (unit == name) return format_time_ns(value * ns);
  }
  if (metric == "flops_utilization") return format_number(value) + " of peak";
  return unit.empty() || unit == "1" ? format_number(value) : format_number(value) + " " + unit;
}

}  // namespace headroom
