// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/json/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headroom/base/fnv.h"
#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

template <typename Number>
std::optional<Number> converted(std::string_view text, int base = 10) {
  Number value{};
  const char* const end = text.data() + text.size();
  if constexpr (std::is_integral_v<Number>) {
    const auto [stop, error] = std::from_chars(text.data(), end, value, base);
    if (error != std::errc{} || stop != end) return std::nullopt;
  } else {
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> scaled_slowly(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const long double value = std::strtold(copy.c_str(), &end) * 1000.0L;
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value)) return std::nullopt;
  if (std::abs(value) > static_cast<long double>(kMaxNs)) return std::nullopt;
  return std::llroundl(value);
}

}  // namespace

std::optional<std::int64_t> parse_microseconds(Raw value) {
  const std::string_view text = without_quotes(value);
  const bool negative = text.starts_with('-');
  std::size_t at = negative ? 1 : 0;
  std::int64_t ns = 0;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at]) && at - first < 16) ns = 10 * ns + (text[at++] - '0');
  if (at == first || ns >= kMaxNs / 1000) return scaled_slowly(text);
  std::int64_t unit = 1000;
  ns *= unit;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]) && unit > 1; ++at)
      ns += (unit /= 10) * (text[at] - '0');
    if (at < text.size() && is_digit(text[at])) ns += text[at] >= '5' ? 1 : 0;
    while (at < text.size() && is_digit(text[at])) ++at;
  }
  if (at != text.size()) return scaled_slowly(text);
  return negative ? -ns : ns;
}

bool is_number(Raw value) {
  const std::string_view text = without_quotes(value);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (stop != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  return error == std::errc::result_out_of_range || std::isfinite(number);
}

std::optional<std::int64_t> parse_integer(Raw value) {
  const std::string_view text = without_quotes(value);
  if (const auto whole = converted<std::int64_t>(text)) return whole;
  if (const auto wrapped = converted<std::uint64_t>(text)) return static_cast<std::int64_t>(*wrapped);
  const auto real = parse_real(text);
  if (!real || text.find_first_of(".eE") == text.npos || std::abs(*real) >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<double> parse_real(Raw value) {
  const auto real = converted<double>(without_quotes(value));
  return real && std::isfinite(*real) ? real : std::nullopt;
}

std::int64_t parse_id(Raw value) {
  const std::string_view text = without_quotes(value);
  if (const auto whole = parse_integer(text)) return *whole;
  if (text.starts_with("0x")) {
    if (const auto hex = converted<std::uint64_t>(text.substr(2), 16)) return static_cast<std::int64_t>(*hex);
  }
  Fnv1a hash;
  hash.add(text);
  return static_cast<std::int64_t>(hash.value());
}

}  // namespace headroom::trace::readers
