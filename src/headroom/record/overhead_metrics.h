// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace headroom {

/// Columns of a case that say what measuring adds to each of its iterations, in ns: what reading the clock
/// around one costs, and what calling a body in Python does.
inline constexpr const char* kClockOverhead = "clock";
inline constexpr const char* kPythonOverhead = "python";
inline constexpr std::array<std::string_view, 2> kOverheadMetrics{kClockOverhead, kPythonOverhead};
/// In the environment of records (extra_info) whose times are without it.
inline constexpr const char* kOverheadTakenOff = "overhead_taken_off";
/// A body that takes less than this many times its overhead is marked.
inline constexpr double kOverheadFactor = 20;

constexpr bool is_overhead(std::string_view metric) {
  for (const std::string_view name : kOverheadMetrics) {
    if (metric == name) return true;
  }
  return false;
}

}  // namespace headroom
