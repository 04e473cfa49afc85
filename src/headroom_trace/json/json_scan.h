// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace::readers {

/// Offsets of the tokens of a text: each of { } [ ] : , and the first byte of each string (its quote) and
/// other scalar. TokenIndex finds the same with simdjson.
using Structurals = std::vector<std::uint32_t>;

struct Scan {
  enum class End {
    kComplete,  ///< `at` is one past the value
    kBroken,    ///< the grammar is violated at `at`
    kOpen       ///< the text ends inside the value
  };
  End end = End::kOpen;
  std::uint32_t at = 0;
  const char* what = "";         ///< kBroken: the error
  bool had_control = false;      ///< a string contains an unescaped control character
  bool had_inner_quote = false;  ///< a string contains an unescaped quote, taken as part of it
};

/// Scans one JSON value from `at` and appends its tokens. Tolerates trailing commas, control characters in
/// strings, quotes in strings that no token can follow, and bare words such as NaN. The tokens of a complete
/// value end with two more, both the end of the value.
Scan scan_value(std::string_view text, std::uint32_t at, Structurals& structurals);

/// The first byte from `at` on that is not white space, or text.size().
std::uint32_t skip_space(std::string_view text, std::uint32_t at);

/// Skips a JSON value of any size, piece by piece, by its brackets and quotes alone.
class ValueSkip {
 public:
  /// Takes the next piece. Returns how many bytes of it belong to the value; is_over() says whether the value
  /// has ended.
  std::size_t take(std::string_view piece);
  bool is_over() const { return is_over_; }

 private:
  std::size_t take_string(std::string_view piece, std::size_t at);

  std::int64_t depth_ = 0;
  bool has_begun_ = false, in_string_ = false, after_backslash_ = false, is_over_ = false;
};

/// A probable start of an event is recognised without parsing the text before it: a comma, a brace, and a key
/// that events have.
inline constexpr std::size_t kNoBoundary = static_cast<std::size_t>(-1);

/// The brace of the first probable event at or after `from`: where to resume after a broken one.
std::size_t next_event(std::string_view text, std::size_t from);
/// The brace of the last probable event that follows another: where to split a text.
std::size_t last_boundary(std::string_view text);

/// Checks strict JSON (RFC 8259), piece by piece. The readers tolerate more; this reports what other programs
/// would reject.
class JsonSyntax {
 public:
  struct Fault {
    std::uint64_t offset = 0;  ///< byte of the text
    const char* what = "";     ///< "a comma before a closing bracket"
  };

  /// Checks the next piece; does nothing after a fault.
  void take(std::string_view piece);
  /// The first fault so far, if any. A truncated text has none.
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  enum class State : std::uint8_t {
    kAnyValue,      ///< a value must follow
    kFirstElement,  ///< a value or the end of an array
    kFirstKey,      ///< a key or the end of an object
    kKey,           ///< a key must follow
    kColon,
    kAfterValue,  ///< a comma or an end
    kString,
    kEscape,
    kHex,
    kUtf8,     ///< inside a character
    kLiteral,  ///< inside true, false or null
    kSign,     ///< a number's first digit must follow
    kZero,     ///< a leading zero
    kDigits,   ///< digits before the point
    kPoint,    ///< a digit must follow
    kDecimals,
    kExponent,      ///< a sign or a digit must follow
    kExponentSign,  ///< a digit must follow
    kExponentDigits
  };

  const char* step(unsigned char c);
  const char* start_value(unsigned char c);
  const char* in_number(unsigned char c);
  const char* in_text(unsigned char c);
  const char* after_value(unsigned char c);
  const char* start_character(unsigned char c);
  void open(char bracket, State inside);
  const char* close(char bracket);

  State state_ = State::kAnyValue;
  bool is_key_ = false;       ///< the current string is a key
  std::string open_;          ///< open brackets
  std::string_view literal_;  ///< the characters that must follow
  int left_ = 0;              ///< digits of an escape, or bytes of a character, that must follow
  unsigned char least_ = 0x80, most_ = 0xBF;  ///< range of the next byte of the character
  std::uint64_t offset_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace headroom::trace::readers
