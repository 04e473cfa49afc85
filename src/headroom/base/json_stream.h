// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/json_cursor.h"
#include "headroom/base/padded_text.h"

namespace headroom {

/// Reads a JSON file from front to back through a small window, so that a file of any size takes the memory
/// of what is kept of it; or a text that is in memory already. Made for long lists of numbers. Everything
/// passed over is checked to be JSON. All functions throw Error with the path and the byte offset where the
/// text is not what was asked for.
class JsonStream {
 public:
  /// A plain file, a pipe, or one compressed with gzip or zstd (those are unpacked into memory).
  explicit JsonStream(const std::filesystem::path& path);
  /// `text` must stay as long as this; `source` names it in errors.
  JsonStream(const PaddedText& text, std::string source);
  ~JsonStream();
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  /// Also takes NaN, Infinity and -Infinity for numbers, as Python's json does. For files that Python wrote.
  void accept_python_numbers() { takes_python_numbers_ = true; }

  /// First character of what comes next: '{', '[', '"', 't', 'f', 'n', '-' or a digit of a value; '\0' at the
  /// end.
  char peek();

  /// Goes through an object; `visit` gets the key and must take its value.
  void members(const std::function<void(const std::string& key)>& visit);
  /// Goes through an array; `visit` must take each element.
  void elements(const std::function<void()>& visit);
  /// Takes as many numbers, each with the comma behind it, as it can from the text in [begin, end) and
  /// returns where the next one begins: `begin` where it could take none. The last number, with the bracket
  /// right behind it, may be taken too; then that bracket is what is returned. A zero byte stands at `end`.
  using TakeMany = std::function<const char*(const char* begin, const char* end)>;
  /// Takes one number, or "null", whose text it is given; an empty text says that something else stands
  /// there, and then it must throw.
  using TakeOne = std::function<void(std::string_view token)>;
  /// Goes through an array of numbers. `many` is for speed: what it leaves, `one` gets.
  void numbers(const TakeMany& many, const TakeOne& one);

  /// Takes any value and returns its text, without the white space between its parts.
  std::string raw_value();
  /// Takes any value.
  Json value();
  /// Takes the value by `take`, which is given a JsonCursor before it, where it answers true and all of the
  /// value lies in the window. Else nothing is taken.
  template <typename Take>
  bool take_plainly(const Take& take) {
    peek();
    JsonCursor cursor(at_, end_);
    if (recorded_ != nullptr || !take(cursor) || cursor.is_at_end()) return false;
    at_ = cursor.at();
    return true;
  }
  /// Takes any value.
  void skip_value();
  /// Nothing but white space may follow.
  void finish();

  /// Bytes of the text; 0 where it is not known.
  std::uint64_t size() const { return size_; }
  /// Bytes of the text before what comes next.
  std::uint64_t offset() const { return offset_ - static_cast<std::uint64_t>(end_ - at_); }
  /// "FILE: at byte N: WHAT", thrown as an Error.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[noreturn]] void not_json(const std::string& what) const;
  void hold(const PaddedText& text);
  bool refill();
  void take(char expected);
  void take_string();
  void take_text(std::string& text);
  Json take_number();
  void take_literal(std::string_view literal);
  void take_any();
  void take_one_number(const TakeOne& one);
  std::string_view number_token();
  std::string_view python_number();
  void record(std::string_view text);

  std::string source_;
  int file_ = -1;
  bool takes_python_numbers_ = false;
  bool at_end_ = false;  ///< nothing more to read into the window
  PaddedText unpacked_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;  ///< of end_ in the text
  std::uint64_t size_ = 0;
  std::string* recorded_ = nullptr;  ///< gets what is taken
  std::size_t depth_ = 0;
};

}  // namespace headroom
