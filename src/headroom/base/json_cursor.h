// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// Takes values out of JSON text that lies in memory, as long as they are what is asked for and written
/// plainly: strings without escapes, numbers that fit, literals. The quick way beside the one that can say
/// what is wrong (JsonStream::value and JsonCodec): everything answers false where it cannot, and then the
/// text has to be read again in that way.
class JsonCursor {
 public:
  /// A zero byte stands at `end`.
  JsonCursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  const char* at() const { return at_; }
  /// Whether there is nothing left: what was a number may go on behind the end.
  bool is_at_end() const { return at_ == end_; }

  /// The next character that is no white space is `expected`, and is taken. Of brackets, commas and colons.
  bool take(char expected);
  bool take_null() { return take_literal("null"); }
  bool take_bool(bool& value);
  /// What stands between the quotes, which lives as long as the text.
  bool take_string(std::string_view& value);
  /// As JsonStream::value has it: a whole number of 64 bits, else a finite real.
  bool take_number(double& value);
  /// Whole numbers without point and exponent.
  bool take_whole(std::uint64_t& value);
  bool take_whole(std::int64_t& value);
  /// Any string, number or literal.
  bool skip_scalar();

  /// Goes through an array; `take_one` takes an element.
  template <typename TakeOne>
  bool take_elements(const TakeOne& take_one) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!take_one()) return false;
    } while (take(','));
    return take(']');
  }
  /// Goes through an object; `take_one` gets the key and takes its value.
  template <typename TakeOne>
  bool take_members(const TakeOne& take_one) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!take_string(key) || !take(':') || !take_one(key)) return false;
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
  }
  bool take_literal(std::string_view literal);
  /// The text of a number; empty where there is none.
  std::string_view take_number_text();

  const char* at_;
  const char* end_;
};

}  // namespace headroom
