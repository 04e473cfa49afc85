// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/json/json_scan.h"

#include <array>

#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

bool is_operator(char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',';
}

/// A quote not followed by one of these is part of the string.
bool can_follow_string(char c) {
  return c == ',' || c == ':' || c == '}' || c == ']';
}

class Scanner {
 public:
  Scanner(std::string_view text, std::uint32_t at, Structurals& structurals)
      : text_(text), at_(at), structurals_(structurals) {}

  Scan run() {
    const std::size_t first = structurals_.size();
    do {
      at_ = skip_space(text_, at_);
      if (at_ >= text_.size()) return stop(Scan::End::kOpen);
      if (!token()) return result_;
    } while (!nesting_.empty());
    if (structurals_.size() > first) structurals_.insert(structurals_.end(), 2, at_);
    return stop(Scan::End::kComplete);
  }

 private:
  enum class Next { kValue, kValueOrEnd, kKeyOrEnd, kColon, kCommaOrEnd };

  Scan stop(Scan::End end) {
    result_.end = end;
    result_.at = at_;
    return result_;
  }
  bool broken(const char* what) {
    result_.what = what;
    stop(Scan::End::kBroken);
    return false;
  }
  bool in_object() const { return !nesting_.empty() && nesting_.back() == '{'; }

  bool token() {
    structurals_.push_back(at_);
    const char c = text_[at_];
    switch (next_) {
      case Next::kColon:
        if (c != ':') return broken("a key without a colon");
        ++at_;
        next_ = Next::kValue;
        return true;
      case Next::kCommaOrEnd:
        if (c == '}' || c == ']') return close(c);
        if (c != ',') return broken("no comma after a value");
        ++at_;
        next_ = in_object() ? Next::kKeyOrEnd : Next::kValueOrEnd;
        return true;
      case Next::kKeyOrEnd:
        if (c == '}') return close(c);
        if (c != '"') return broken("a key that is not a string");
        next_ = Next::kColon;
        return string();
      case Next::kValueOrEnd:
        if (c == ']') return close(c);
        [[fallthrough]];
      case Next::kValue:
        return value(c);
    }
    return false;
  }

  bool value(char c) {
    if (c == '{' || c == '[') {
      nesting_.push_back(c);
      ++at_;
      next_ = c == '{' ? Next::kKeyOrEnd : Next::kValueOrEnd;
      return true;
    }
    if (is_operator(c)) return broken("no value");
    next_ = Next::kCommaOrEnd;
    if (c == '"') return string();
    while (at_ < text_.size() && !is_json_space(text_[at_]) && !is_operator(text_[at_])) {
      if (text_[at_] == '"') return broken("a quote inside a number or word");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return broken("a control character");
      ++at_;
    }
    return true;
  }

  bool close(char c) {
    if (in_object() != (c == '}')) return broken("brackets that do not match");
    nesting_.pop_back();
    ++at_;
    next_ = Next::kCommaOrEnd;
    return true;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        if (++at_ >= text_.size()) break;
      } else if (c == '"') {
        const std::uint32_t after = skip_space(text_, at_ + 1);
        if (after >= text_.size() || can_follow_string(text_[after])) {
          ++at_;
          return true;
        }
        result_.had_inner_quote = true;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        result_.had_control = true;
      }
    }
    at_ = static_cast<std::uint32_t>(text_.size());
    stop(Scan::End::kOpen);
    return false;
  }

  std::string_view text_;
  std::uint32_t at_;
  Structurals& structurals_;
  std::vector<char> nesting_;
  Next next_ = Next::kValue;
  Scan result_;
};

constexpr std::array<std::string_view, 23> kEventKeys{
    "ph",    "cat",     "name",  "pid",   "tid",     "ts",       "dur",          "id",
    "args",  "s",       "bp",    "tts",   "tdur",    "sf",       "esf",          "id2",
    "scope", "bind_id", "cname", "stack", "flow_in", "flow_out", "use_async_tts"};

std::size_t after_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at;
}

/// Moves `at` back to the last non-space character and returns that, or 0.
char before_space(std::string_view text, std::size_t& at) {
  while (at > 0) {
    if (!is_json_space(text[--at])) return text[at];
  }
  return '\0';
}

enum class Before { kEventAndComma, kComma };

bool is_boundary(std::string_view text, std::size_t brace, Before before) {
  std::size_t at = brace;
  if (before_space(text, at) != ',') return false;
  if (before == Before::kEventAndComma && before_space(text, at) != '}') return false;
  at = after_space(text, brace + 1);
  if (at >= text.size() || text[at] != '"') return false;
  const std::string_view rest = text.substr(at + 1, 16);
  for (const std::string_view key : kEventKeys) {
    if (!rest.starts_with(key) || key.size() >= rest.size() || rest[key.size()] != '"') continue;
    at = after_space(text, at + 1 + key.size() + 1);
    return at < text.size() && text[at] == ':';
  }
  return false;
}

constexpr const char* kNoValue = "an invalid value";
constexpr const char* kNoNumber = "an invalid number";

bool is_decimal(unsigned char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(unsigned char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

Scan scan_value(std::string_view text, std::uint32_t at, Structurals& structurals) {
  return Scanner(text, at, structurals).run();
}

std::uint32_t skip_space(std::string_view text, std::uint32_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at;
}

std::size_t ValueSkipper::take_string(std::string_view piece, std::size_t at) {
  for (; at < piece.size(); ++at) {
    if (after_backslash_) {
      after_backslash_ = false;
    } else if (piece[at] == '\\') {
      after_backslash_ = true;
    } else if (piece[at] == '"') {
      in_string_ = false;
      is_over_ = depth_ == 0;
      return at + 1;
    }
  }
  return at;
}

std::size_t ValueSkipper::take(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size() && !is_over_) {
    if (in_string_) {
      at = take_string(piece, at);
      continue;
    }
    const char c = piece[at];
    const bool ends_scalar = depth_ == 0 && has_begun_;
    if (c == '}' || c == ']') {
      // A closing bracket ends a top-level scalar.
      if (depth_ == 0) is_over_ = true;
      if (depth_ == 0) return at;
      is_over_ = --depth_ == 0;
    } else if (c == ',' && depth_ == 0) {
      is_over_ = true;
      return at;
    } else if (c == '{' || c == '[' || c == '"') {
      if (ends_scalar) {
        is_over_ = true;
        return at;
      }
      in_string_ = c == '"';
      depth_ += c == '"' ? 0 : 1;
    }
    has_begun_ = true;
    ++at;
  }
  return at;
}

std::size_t next_event(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != text.npos; at = text.find('{', at + 1)) {
    if (is_boundary(text, at, Before::kComma)) return at;
  }
  return kNoBoundary;
}

std::size_t last_boundary(std::string_view text) {
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t at = text.rfind('{', end - 1);
    if (at == text.npos) break;
    if (is_boundary(text, at, Before::kEventAndComma)) return at;
    end = at;
  }
  return kNoBoundary;
}

void JsonSyntax::take(std::string_view piece) {
  if (fault_) return;
  // RFC 8259 lets parsers ignore a byte order mark.
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
  if (is_json_space(static_cast<char>(c))) return nullptr;
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
  if (c == 'N' || c == 'I') return "NaN or Infinity, which JSON does not allow";
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
  if (before == State::kSign && c == 'I') return "NaN or Infinity, which JSON does not allow";
  if (!is_whole && before != State::kDecimals && before != State::kExponentDigits) return kNoNumber;
  state_ = State::kAfterValue;
  return is_json_space(static_cast<char>(c)) ? nullptr : after_value(c);
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
                 ? "an invalid escape"
                 : nullptr;
    case State::kHex:
      if (!is_hexadecimal(c)) return "an invalid escape";
      if (--left_ == 0) state_ = State::kString;
      return nullptr;
    case State::kUtf8:
      if (c < least_ || c > most_) return "invalid UTF-8";
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
    return "an unescaped control character in a string";
  } else if (c >= 0x80) {
    return start_character(c);
  }
  return nullptr;
}

/// Unicode standard, table 3-7.
const char* JsonSyntax::start_character(unsigned char c) {
  if (c < 0xC2 || c > 0xF4) return "invalid UTF-8";
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
