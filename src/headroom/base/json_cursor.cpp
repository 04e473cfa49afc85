// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_cursor.h"

#include <charconv>
#include <cmath>
#include <cstddef>

#include "headroom/base/json_number.h"

namespace headroom {

bool JsonCursor::take(char expected) {
  skip_space();
  if (*at_ != expected) return false;
  ++at_;
  return true;
}

bool JsonCursor::take_literal(std::string_view literal) {
  skip_space();
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool JsonCursor::take_bool(bool& value) {
  value = take_literal("true");
  return value || take_literal("false");
}

bool JsonCursor::take_string(std::string_view& value) {
  if (!take('"')) return false;
  const char* const begin = at_;
  // The zero byte at the end is none of these.
  while (*at_ >= 0x20 && *at_ < 0x7f && *at_ != '"' && *at_ != '\\') ++at_;
  if (*at_ != '"') return false;
  value = {begin, static_cast<std::size_t>(at_ - begin)};
  ++at_;
  return true;
}

std::string_view JsonCursor::take_number_text() {
  skip_space();
  const char* const begin = at_;
  const char* const stop = json_number_end(begin);
  if (stop == nullptr) return {};
  at_ = stop;
  return {begin, static_cast<std::size_t>(stop - begin)};
}

bool JsonCursor::take_number(double& value) {
  const std::string_view token = take_number_text();
  if (token.empty()) return false;
  if (token.find_first_of(".eE") == std::string_view::npos) {
    const auto whole = json_whole_number(token);
    if (whole) value = static_cast<double>(*whole);
    return whole.has_value();
  }
  value = json_number_value(token);
  return std::isfinite(value);
}

bool JsonCursor::take_whole(std::uint64_t& value) {
  const auto whole = json_whole_number(take_number_text());
  if (whole) value = *whole;
  return whole.has_value();
}

bool JsonCursor::take_whole(std::int64_t& value) {
  const std::string_view token = take_number_text();
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  return !token.empty() && error == std::errc() && stop == end;
}

bool JsonCursor::skip_scalar() {
  skip_space();
  std::string_view text;
  double number = 0;
  bool truth = false;
  if (*at_ == '"') return take_string(text);
  if (*at_ == 'n') return take_null();
  if (*at_ == 't' || *at_ == 'f') return take_bool(truth);
  return take_number(number);
}

}  // namespace headroom
