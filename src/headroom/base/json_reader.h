// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// Null without a number. A zero byte must follow the text.
const char* json_number_end(const char* at);

/// Infinity or zero if out of range.
double json_number_value(std::string_view token);

/// 0 to 2^64 - 1 without point or exponent.
std::optional<std::uint64_t> json_whole_number(std::string_view token);

/// Fast reader of plain JSON: strings without escapes, numbers in range, literals. Returns false for anything
/// else; the caller must then reread with JsonReader::value or JsonCodec, which report errors.
class JsonCursor {
 public:
  /// A zero byte must follow the text.
  JsonCursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  const char* at() const { return at_; }
  /// If true, a number just read may continue beyond the end.
  bool is_at_end() const { return at_ == end_; }

  /// Skips white space.
  bool take(char expected);
  bool take_null() { return take_literal("null"); }
  bool take_bool(bool& value);
  /// Without quotes.
  bool take_string(std::string_view& value);
  bool take_number(double& value);
  /// Without point and exponent.
  bool take_whole(std::uint64_t& value);
  bool take_whole(std::int64_t& value);
  bool skip_scalar();

  /// `take_one` must take an element.
  template <typename TakeOne>
  bool take_elements(const TakeOne& take_one) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!take_one()) return false;
    } while (take(','));
    return take(']');
  }
  /// `take_one` gets the key and must take the value.
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
  std::string_view take_number_text();

  const char* at_;
  const char* end_;
};

/// Reads strict JSON by tokens and values, from a text or (JsonStream) a file. Validates
/// skipped values. All functions throw Error with the source and byte offset if the text is not the requested
/// JSON.
class JsonReader {
 public:
  /// A zero byte must follow `text`, which must outlive this; `source` names it in errors.
  JsonReader(std::string_view text, std::string source);
  virtual ~JsonReader() = default;
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// Accepts these words of other writers, for NaN and the infinities, as numbers.
  void accept_numbers(std::initializer_list<std::string_view> words) { number_words_ = words; }

  /// First character of the next token; '\0' at the end.
  char peek();

  /// `visit` must take the value.
  void members(const std::function<void(const std::string& key)>& visit);
  /// `visit` must take the element.
  void elements(const std::function<void()>& visit);
  /// Takes "null" or a number that does not fit. Must throw for an empty token: another value.
  using TakeOther = std::function<void(std::string_view token)>;
  /// Appends an array, passing elements other than numbers to `take_other`. `Number`: double or
  /// std::uint32_t.
  template <typename Number>
  void numbers(std::vector<Number>& column, const TakeOther& take_other);

  /// Without white space between tokens.
  std::string raw_value();
  /// The last of equal keys wins, at the first's position. Throws beyond 500 levels of nesting.
  Json value();
  /// Uses `take(JsonCursor)` if it succeeds and the value is within the window; otherwise takes nothing.
  template <typename Take>
  bool take_in_buffer(const Take& take) {
    peek();
    JsonCursor cursor(at_, end_);
    if (recorded_ != nullptr || !take(cursor) || cursor.is_at_end()) return false;
    at_ = cursor.at();
    return true;
  }
  void skip_value();
  /// Requires that only white space follows.
  void finish();

  /// In bytes; 0 if unknown.
  std::uint64_t size() const { return size_; }
  /// Bytes before the next token.
  std::uint64_t offset() const { return offset_ - static_cast<std::uint64_t>(end_ - at_); }
  [[noreturn]] void refuse(const std::string& what) const;

 protected:
  /// Reads through read_more().
  explicit JsonReader(std::string source) : source_(std::move(source)) {}
  const std::string& source() const { return source_; }
  void hold(std::string_view text);
  void expect_bytes(std::uint64_t size) { size_ = size; }
  /// All that is read and not taken.
  std::string_view window() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Returns the bytes written to `room`; 0 at the end.
  virtual std::size_t read_more(char* room, std::size_t size);

 private:
  [[noreturn]] void throw_not_json(const std::string& what) const { throw_not_json(what, offset()); }
  [[noreturn]] void throw_not_json(const std::string& what, std::uint64_t offset) const;
  bool refill();
  void take(char expected);
  void take_string();
  void take_text(std::string& text);
  Json take_number();
  void take_literal(std::string_view literal);
  void take_any();
  std::string_view number_or_null();
  std::string_view number_token();
  std::string_view number_word();
  void record(std::string_view text);

  std::string source_;
  std::vector<std::string_view> number_words_;
  bool at_end_ = false;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;  ///< of end_
  std::uint64_t size_ = 0;
  std::string* recorded_ = nullptr;  ///< receives the taken text
  std::size_t depth_ = 0;
};

}  // namespace headroom
