// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

std::pair<double, int> rounded_to_three(double value) {
  const std::string text = fmt::format("{:.2e}", value);
  return {std::strtod(text.c_str(), nullptr), std::atoi(text.c_str() + text.find('e') + 1)};
}

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTimeUnits{Unit{"ns", 1},     Unit{"us", 1e3}, Unit{"µs", 1e3},  Unit{"μs", 1e3},
                                Unit{"ms", 1e6},   Unit{"s", 1e9},  Unit{"sec", 1e9}, Unit{"min", 60e9},
                                Unit{"h", 3600e9}, Unit{"", 1e9}};

constexpr double kKi = 1024;
constexpr std::array kByteUnits{Unit{"", 1},
                                Unit{"B", 1},
                                Unit{"K", kKi},
                                Unit{"KB", kKi},
                                Unit{"KiB", kKi},
                                Unit{"M", kKi* kKi},
                                Unit{"MB", kKi* kKi},
                                Unit{"MiB", kKi* kKi},
                                Unit{"G", kKi* kKi* kKi},
                                Unit{"GB", kKi* kKi* kKi},
                                Unit{"GiB", kKi* kKi* kKi},
                                Unit{"T", kKi* kKi* kKi* kKi},
                                Unit{"TB", kKi* kKi* kKi* kKi},
                                Unit{"TiB", kKi* kKi* kKi* kKi}};

constexpr std::array kShareUnits{Unit{"", 1}, Unit{"%", 0.01}};

std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  const std::string_view name = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const Unit& unit : units) {
    if (name == unit.name) return number * unit.factor;
  }
  return std::nullopt;
}

std::string format_scaled(double value, std::span<const std::string_view> names, double step) {
  std::size_t i = 0;
  while (i + 1 < names.size() && std::abs(rounded_to_three(value).first) >= step) {
    value /= step;
    ++i;
  }
  return fmt::format("{} {}", format_number(value), names[i]);
}

}  // namespace

std::string format_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const auto [rounded, exponent] = rounded_to_three(value);
  if (exponent < -6 || exponent >= 15) return fmt::format("{:.2e}", value);
  return fmt::format("{:.{}f}", rounded, exponent >= 2 ? 0 : 2 - exponent);
}

std::string format_ratio(double ratio) {
  constexpr double kMin = 0.0005, kMax = 1e6;
  const double size = std::abs(ratio);
  return size == 0 || (size >= kMin && size < kMax) ? fmt::format("{:.3f}", ratio)
                                                    : fmt::format("{:.2e}", ratio);
}

std::string format_time_ns(double ns) {
  constexpr std::array<std::string_view, 4> kNames{"ns", "µs", "ms", "s"};
  return format_scaled(ns, kNames, 1000);
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t i = 0;
  while (i + 1 < kNames.size() && std::abs(bytes) >= kKi) {
    bytes /= kKi;
    ++i;
  }
  if (bytes == std::floor(bytes)) return fmt::format("{:.0f} {}", bytes, kNames[i]);
  // 1000 to 1023 have four digits.
  if (std::abs(bytes) >= 1000) return fmt::format("{:.0f} {}", bytes, kNames[i]);
  return fmt::format("{} {}", format_number(bytes), kNames[i]);
}

std::string format_percent(double share) {
  return format_number(share * 100) + " %";
}

double parse_time_ns(std::string_view text) {
  const std::optional<double> ns = parse_quantity(text, kTimeUnits);
  if (!ns) throw Error(quote(text) + " is not a time; write it like 500ms, 2s, 1.5 min or 10us");
  return *ns;
}

double parse_share(std::string_view text) {
  const std::optional<double> share = parse_quantity(text, kShareUnits);
  if (!share) throw Error(quote(text) + " is not a share; write it like 1% or 0.01");
  if (*share > 1 && text.find('%') == std::string_view::npos) {
    throw Error(fmt::format("{} is more than 100 %: did you mean {} % or {:g}?", quote(text), trimmed(text),
                            *share / 100));
  }
  return *share;
}

std::int64_t parse_bytes(std::string_view text) {
  const std::optional<double> bytes = parse_quantity(text, kByteUnits);
  // 2^63, the first double out of range.
  if (!bytes || *bytes != std::floor(*bytes) || *bytes >= 9223372036854775808.0) {
    throw Error(quote(text) + " is not a size in bytes; write it like 4096, 64K, 32MiB or 1G");
  }
  return static_cast<std::int64_t>(*bytes);
}

}  // namespace headroom
