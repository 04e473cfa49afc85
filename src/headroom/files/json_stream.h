// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/files/compressed_file.h"

namespace headroom {

/// Streaming JSON reader. Reads a file through a small window, so that memory use does not depend on the
/// file's size, or reads text in memory. Made for long lists of numbers. Validates what it skips. All
/// functions throw Error with path and byte offset if the text is not the requested JSON.
class JsonStream {
 public:
  /// Opens a file or a pipe. A gzip or zstd file is unpacked into memory.
  explicit JsonStream(const std::filesystem::path& path);
  /// `text` must outlive this reader; `source` names it in errors.
  JsonStream(const PaddedText& text, std::string source);
  ~JsonStream();
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  /// Accepts NaN, Infinity and -Infinity as numbers, as Python's json does.
  void accept_python_numbers() { takes_python_numbers_ = true; }

  /// First character of the next token: '{', '[', '"', 't', 'f', 'n', '-', a digit, or '\0' at the end.
  char peek();

  /// Takes an object; `visit` gets each key and must take its value.
  void members(const std::function<void(const std::string& key)>& visit);
  /// Takes an array; `visit` must take each element.
  void elements(const std::function<void()>& visit);
  /// Fast path: takes as many numbers as it can from [begin, end), each with the comma behind it, and returns
  /// the start of the next (`begin` if it took none). It may take the last number too and then returns the
  /// closing bracket. `end` points to a zero byte.
  using TakeMany = std::function<const char*(const char* begin, const char* end)>;
  /// Takes one number or "null", given its text. Empty text means that the element is something else; throw
  /// then.
  using TakeOne = std::function<void(std::string_view token)>;
  /// Takes an array of numbers: `many` first, and `one` for each element that it leaves.
  void numbers(const TakeMany& many, const TakeOne& one);

  /// Takes any value and returns its text without white space between tokens.
  std::string raw_value();
  /// Takes any value.
  Json value();
  /// Takes the value with `take(JsonCursor)`, if that returns true and the whole value lies in the window.
  /// Otherwise takes nothing.
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
  /// Requires that only white space follows.
  void finish();

  /// Size of the text in bytes; 0 if unknown.
  std::uint64_t size() const { return size_; }
  /// Bytes of the text before the next token.
  std::uint64_t offset() const { return offset_ - static_cast<std::uint64_t>(end_ - at_); }
  /// Throws Error("FILE: at byte N: WHAT").
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
  bool at_end_ = false;  ///< no more input for the window
  PaddedText unpacked_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;  ///< of end_ in the text
  std::uint64_t size_ = 0;
  std::string* recorded_ = nullptr;  ///< receives the text of what is taken
  std::size_t depth_ = 0;
};

}  // namespace headroom
