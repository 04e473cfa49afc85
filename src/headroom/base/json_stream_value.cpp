// SPDX-License-Identifier: Apache-2.0
// Values of a JsonStream: passed over, as text, or as a Json.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "headroom/base/json_number.h"
#include "headroom/base/json_stream.h"

namespace headroom {
namespace {

/// Of what is made a value of, as in parse_json.
constexpr std::size_t kDeepestValue = 500;

}  // namespace

void JsonStream::take_any() {
  switch (peek()) {
    case '{':
      members([this](const std::string&) { take_any(); });
      break;
    case '[':
      elements([this] { take_any(); });
      break;
    case '"':
      take_string();
      break;
    case 't':
      take_literal("true");
      break;
    case 'f':
      take_literal("false");
      break;
    case 'n':
      take_literal("null");
      break;
    default:
      if (python_number().empty()) record(number_token());
  }
}

void JsonStream::skip_value() {
  take_any();
}

Json JsonStream::take_number() {
  const std::string_view token = number_token();
  if (token.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t below_zero = 0;
    const char* const end = token.data() + token.size();
    if (const auto whole = json_whole_number(token)) return *whole;
    if (std::from_chars(token.data(), end, below_zero).ec == std::errc()) return below_zero;
  }
  const double real = json_number_value(token);
  if (!std::isfinite(real)) not_json("a number beyond what is a double");
  return real;
}

Json JsonStream::value() {
  if (depth_ > kDeepestValue) refuse(fmt::format("nested more than {} deep", kDeepestValue));
  switch (peek()) {
    case '{': {
      Json object = Json::object();
      members([&](const std::string& key) { object[key] = value(); });
      return object;
    }
    case '[': {
      Json array = Json::array();
      elements([&] { array.push_back(value()); });
      return array;
    }
    case '"': {
      std::string text;
      take_text(text);
      return text;
    }
    case 't':
      take_literal("true");
      return true;
    case 'f':
      take_literal("false");
      return false;
    case 'n':
      take_literal("null");
      return nullptr;
    default:
      return take_number();
  }
}

std::string JsonStream::raw_value() {
  std::string text;
  recorded_ = &text;
  take_any();
  recorded_ = nullptr;
  return text;
}

}  // namespace headroom
