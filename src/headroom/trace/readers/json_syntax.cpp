// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/json_syntax.h"

namespace headroom::trace::readers {
namespace {

constexpr const char* kNoValue = "something that is no value";
constexpr const char* kNoNumber = "a number that JSON does not have";

bool is_space(unsigned char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_decimal(unsigned char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(unsigned char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

void JsonSyntax::take(std::string_view piece) {
  if (fault_) return;
  // A mark of the byte order is allowed to be ignored, and mostly is.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::size_t at = offset_ == 0 && piece.starts_with(kMark) ? kMark.size() : 0;
  for (; at < piece.size(); ++at) {
    const auto c = static_cast<unsigned char>(piece[at]);
    if (state_ == State::kString && c >= 0x20 && c < 0x80 && c != '"' && c != '\\') continue;
    if (const char* const what = step(c); what != nullptr) {
      fault_ = {offset_ + at, what};
      return;
    }
  }
  offset_ += piece.size();
}

const char* JsonSyntax::step(unsigned char c) {
  switch (state_) {
    case State::kString:
    case State::kEscape:
    case State::kHex:
    case State::kUtf8:
      return in_text(c);
    case State::kLiteral:
      if (c != static_cast<unsigned char>(literal_.front())) return kNoValue;
      literal_.remove_prefix(1);
      if (literal_.empty()) state_ = State::kAfterValue;
      return nullptr;
    case State::kSign:
    case State::kZero:
    case State::kDigits:
    case State::kPoint:
    case State::kDecimals:
    case State::kExponent:
    case State::kExponentSign:
    case State::kExponentDigits:
      return in_number(c);
    default:
      break;
  }
  if (is_space(c)) return nullptr;
  switch (state_) {
    case State::kFirstElement:
      if (c == ']') return close('[');
      return start_value(c);
    case State::kFirstKey:
    case State::kKey:
      if (c == '}' && state_ == State::kFirstKey) return close('{');
      if (c == '}') return "a comma before a closing bracket";
      if (c != '"') return "a key without quotes";
      is_key_ = true;
      state_ = State::kString;
      return nullptr;
    case State::kColon:
      if (c != ':') return "a key without a colon";
      state_ = State::kAnyValue;
      return nullptr;
    case State::kAfterValue:
      return after_value(c);
    default:
      return start_value(c);
  }
}

const char* JsonSyntax::start_value(unsigned char c) {
  if (c == '{') return open('{', State::kFirstKey), nullptr;
  if (c == '[') return open('[', State::kFirstElement), nullptr;
  if (c == '"') {
    is_key_ = false;
    state_ = State::kString;
    return nullptr;
  }
  if (c == '-' || is_decimal(c)) {
    state_ = c == '-' ? State::kSign : c == '0' ? State::kZero : State::kDigits;
    return nullptr;
  }
  literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : "";
  if (!literal_.empty()) {
    state_ = State::kLiteral;
    return nullptr;
  }
  if (c == ']' || c == '}') return "a comma before a closing bracket";
  if (c == ',') return "a comma where a value should be";
  if (c == 'N' || c == 'I') return "NaN or Infinity, which JSON does not have";
  return kNoValue;
}

const char* JsonSyntax::in_number(unsigned char c) {
  const State before = state_;
  if (is_decimal(c)) {
    if (before == State::kZero) return "a number that starts with 0";
    if (before == State::kSign) state_ = c == '0' ? State::kZero : State::kDigits;
    if (before == State::kPoint) state_ = State::kDecimals;
    if (before == State::kExponent || before == State::kExponentSign) state_ = State::kExponentDigits;
    return nullptr;
  }
  const bool is_whole = before == State::kZero || before == State::kDigits;
  if (c == '.' && is_whole) return state_ = State::kPoint, nullptr;
  if ((c == 'e' || c == 'E') && (is_whole || before == State::kDecimals))
    return state_ = State::kExponent, nullptr;
  if ((c == '+' || c == '-') && before == State::kExponent) return state_ = State::kExponentSign, nullptr;
  if (before == State::kSign && c == 'I') return "NaN or Infinity, which JSON does not have";
  if (!is_whole && before != State::kDecimals && before != State::kExponentDigits) return kNoNumber;
  state_ = State::kAfterValue;
  return is_space(c) ? nullptr : after_value(c);
}

const char* JsonSyntax::in_text(unsigned char c) {
  switch (state_) {
    case State::kEscape:
      if (c == 'u') {
        left_ = 4;
        state_ = State::kHex;
        return nullptr;
      }
      state_ = State::kString;
      return std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) == std::string_view::npos
                 ? "an escape that JSON does not have"
                 : nullptr;
    case State::kHex:
      if (!is_hexadecimal(c)) return "an escape that JSON does not have";
      if (--left_ == 0) state_ = State::kString;
      return nullptr;
    case State::kUtf8:
      if (c < least_ || c > most_) return "bytes that are no UTF-8";
      least_ = 0x80, most_ = 0xBF;
      if (--left_ == 0) state_ = State::kString;
      return nullptr;
    default:
      break;
  }
  if (c == '"') {
    state_ = is_key_ ? State::kColon : State::kAfterValue;
  } else if (c == '\\') {
    state_ = State::kEscape;
  } else if (c < 0x20) {
    return "a control character inside of a text";
  } else if (c >= 0x80) {
    return start_character(c);
  }
  return nullptr;
}

/// Table 3-7 of the Unicode standard.
const char* JsonSyntax::start_character(unsigned char c) {
  if (c < 0xC2 || c > 0xF4) return "bytes that are no UTF-8";
  left_ = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
  least_ = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
  most_ = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
  state_ = State::kUtf8;
  return nullptr;
}

const char* JsonSyntax::after_value(unsigned char c) {
  if (open_.empty()) return "text after the end";
  const char bracket = open_.back();
  if (c == ',') {
    state_ = bracket == '{' ? State::kKey : State::kAnyValue;
    return nullptr;
  }
  if (c == '}') return close('{');
  if (c == ']') return close('[');
  return "no comma after a value";
}

void JsonSyntax::open(char bracket, State inside) {
  open_.push_back(bracket);
  state_ = inside;
}

const char* JsonSyntax::close(char bracket) {
  if (open_.empty() || open_.back() != bracket) return "brackets that do not match";
  open_.pop_back();
  state_ = State::kAfterValue;
  return nullptr;
}

}  // namespace headroom::trace::readers
