// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headroom {

/// The value of an axis, as what it is: a whole number, a real one, a size in bytes, or a text.
class AxisValue {
 public:
  /// A size in bytes, shown as "32 MiB".
  struct Size {
    std::int64_t bytes = 0;
    bool operator==(const Size&) const = default;
  };

  AxisValue() = default;
  /// As a person wrote it: a number where that is how the number is written shortest ("4096", "0.25"), else a
  /// text ("int8", "007", "1e3"), so that text() always gives back what was written.
  AxisValue(const std::string& written);
  AxisValue(const char* written) : AxisValue(std::string(written)) {}
  AxisValue(Size size) : value_(size) {}

  /// What a person reads, and writes to choose it. Sizes are exact: "1.5 MiB", but "1363148 B".
  std::string text() const;
  /// Of a number, or the bytes of a size.
  std::optional<double> number() const;
  /// Of a whole number, or the bytes of a size.
  std::optional<std::int64_t> integer() const;

  const std::variant<std::string, std::int64_t, double, Size>& value() const { return value_; }
  bool operator==(const AxisValue&) const = default;

 private:
  std::variant<std::string, std::int64_t, double, Size> value_;
};

/// Axis values of a case in the order in which the experiment declares them: {"D", 1024}, {"dtype", "int8"}.
using AxisValues = std::vector<std::pair<std::string, AxisValue>>;

}  // namespace headroom
