// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace::readers {

/// Offsets of { } [ ] : , and the first byte of each string (its quote) or other scalar.
using Structurals = std::vector<std::uint32_t>;

struct Scan {
  enum class End {
    kComplete,  ///< `at` is one past the value
    kBroken,    ///< the grammar is violated at `at`
    kOpen       ///< the text ends inside the value
  };
  End end = End::kOpen;
  std::uint32_t at = 0;
  const char* what = "";  ///< kBroken: the error
  bool had_control = false;
  bool had_inner_quote = false;  ///< kept as part of the string
};

/// Appends the tokens of a value, then the end of a complete value twice. Tolerates trailing commas, bare
/// words (NaN), and control characters and inner quotes in strings.
Scan scan_value(std::string_view text, std::uint32_t at, Structurals& structurals);

/// The first non-space offset from `at` on, or text.size().
std::uint32_t skip_space(std::string_view text, std::uint32_t at);

/// Skips a JSON value of any size in chunks.
class ValueSkipper {
 public:
  /// Returns how many bytes of the chunk belong to the value.
  std::size_t take(std::string_view piece);
  bool is_over() const { return is_over_; }

 private:
  std::size_t take_string(std::string_view piece, std::size_t at);

  std::int64_t depth_ = 0;
  bool has_begun_ = false, in_string_ = false, after_backslash_ = false, is_over_ = false;
};

/// A probable event start: a comma, a brace and a key that events have.
inline constexpr std::size_t kNoBoundary = static_cast<std::size_t>(-1);

/// The first probable event from `from` on, to resume after a broken event.
std::size_t next_event(std::string_view text, std::size_t from);
/// The last probable event after another one, to split a text.
std::size_t last_boundary(std::string_view text);

/// Checks text in chunks against strict JSON (RFC 8259).
class JsonSyntax {
 public:
  struct Fault {
    std::uint64_t offset = 0;
    const char* what = "";
  };

  void take(std::string_view piece);
  /// A truncated text is not a fault.
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  enum class State : std::uint8_t {
    kAnyValue,
    kFirstElement,  ///< or the end of an array
    kFirstKey,      ///< or the end of an object
    kKey,
    kColon,
    kAfterValue,  ///< a comma or a closing bracket
    kString,
    kEscape,
    kHex,
    kUtf8,  ///< inside a character
    kLiteral,
    kSign,
    kZero,
    kDigits,
    kPoint,
    kDecimals,
    kExponent,
    kExponentSign,
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
  bool is_key_ = false;
  std::string open_;
  std::string_view literal_;
  int left_ = 0;                              ///< of an escape or character
  unsigned char least_ = 0x80, most_ = 0xBF;  ///< next byte of a character
  std::uint64_t offset_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace headroom::trace::readers
