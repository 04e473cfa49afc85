// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_number.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "headroom/base/text.h"

namespace headroom {
namespace {

const char* after_digits(const char* at) {
  while (is_digit(*at)) ++at;
  return at;
}

}  // namespace

const char* json_number_end(const char* at) {
  if (*at == '-') ++at;
  if (!is_digit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : after_digits(at);
  if (*at == '.') {
    if (!is_digit(at[1])) return nullptr;
    at = after_digits(at + 1);
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return nullptr;
    at = after_digits(at);
  }
  return at;
}

double json_number_value(std::string_view token) {
  double value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  return result.ec == std::errc{} ? value : std::strtod(std::string(token).c_str(), nullptr);
}

std::optional<std::uint64_t> json_whole_number(std::string_view token) {
  std::uint64_t value = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace headroom
