// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// Whether a text, which comes piece by piece, is JSON to the letter (RFC 8259), of which our readers forgive
/// much. The readers read on; this says what others would not.
class JsonSyntax {
 public:
  struct Fault {
    std::uint64_t offset = 0;  ///< byte in the text
    const char* what = "";     ///< "a comma before a closing bracket"
  };

  /// The next piece; whatever follows a fault is not looked at.
  void take(std::string_view piece);
  /// The first fault so far; nothing where there is none. A text that ends too early has none.
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
    kUtf8,     ///< inside of a character
    kLiteral,  ///< inside of true, false or null
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
  bool is_key_ = false;       ///< the string at hand is one
  std::string open_;          ///< the brackets that are open
  std::string_view literal_;  ///< what must still follow
  int left_ = 0;              ///< digits of an escape, or bytes of a character, that must still follow
  unsigned char least_ = 0x80, most_ = 0xBF;  ///< of the character's next byte
  std::uint64_t offset_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace headroom::trace::readers
