// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace headroom {

/// The metrics (and units) of 1e9 operations a second: an operation on integers is none on floating point.
inline constexpr const char* kFloatRate = "GFLOP/s";
inline constexpr const char* kIntegerRate = "GOP/s";

/// Whether `dtype`, by any of its usual names ("int8", "s8", "i32", "uint8"), is one of integers.
constexpr bool is_integer_dtype(std::string_view dtype) {
  for (const std::string_view name : {"uint", "int", "u", "i", "s"}) {
    if (!dtype.starts_with(name)) continue;
    const std::string_view bits = dtype.substr(name.size());
    return !bits.empty() && std::ranges::all_of(bits, [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

/// The metric of a case that computes in `dtype`, which may be empty, and its unit.
constexpr const char* operation_rate(std::string_view dtype) {
  return is_integer_dtype(dtype) ? kIntegerRate : kFloatRate;
}

constexpr bool is_operation_rate(std::string_view metric) {
  return metric == kFloatRate || metric == kIntegerRate;
}

/// Whether both names are of one metric: records of integers said GFLOP/s before they said GOP/s.
constexpr bool is_same_metric(std::string_view a, std::string_view b) {
  return a == b || (is_operation_rate(a) && is_operation_rate(b));
}

}  // namespace headroom
