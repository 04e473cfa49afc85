// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/axis_value.h"

#include <fmt/format.h>

#include <cmath>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

/// Exact: what is no short multiple of a unit is told in bytes.
std::string size_text(std::int64_t bytes) {
  std::string text = format_bytes(static_cast<double>(bytes));
  try {
    if (parse_bytes(text) == bytes) return text;
  } catch (const std::exception&) {
    // Rounded to a fraction of a byte.
  }
  return fmt::format("{} B", bytes);
}

}  // namespace

AxisValue::AxisValue(const std::string& written) : value_(written) {
  if (const auto whole = to_integer(written); whole && fmt::format("{}", *whole) == written) {
    value_ = *whole;
  } else if (const auto real = to_number(written);
             real && std::isfinite(*real) && fmt::format("{}", *real) == written) {
    value_ = *real;
  }
}

std::string AxisValue::text() const {
  if (const auto* size = std::get_if<Size>(&value_)) return size_text(size->bytes);
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value_)) return fmt::format("{}", *real);
  return std::get<std::string>(value_);
}

std::optional<double> AxisValue::number() const {
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  const auto whole = integer();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<std::int64_t> AxisValue::integer() const {
  if (const auto* size = std::get_if<Size>(&value_)) return size->bytes;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
  return std::nullopt;
}

}  // namespace headroom
