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

/// Streaming JSON reader with a small window. Validates skipped values. All functions throw Error with path
/// and byte offset if the text is not the requested JSON.
class JsonStream {
 public:
  /// Opens a file or pipe; unpacks gzip and zstd into memory.
  explicit JsonStream(const std::filesystem::path& path);
  /// `text` must outlive this; `source` names it in errors.
  JsonStream(const PaddedText& text, std::string source);
  ~JsonStream();
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  /// Accepts NaN and Infinity, as Python's json does.
  void accept_python_numbers() { takes_python_numbers_ = true; }

  /// Returns the first character of the next token; '\0' at the end.
  char peek();

  /// `visit` must take the value.
  void members(const std::function<void(const std::string& key)>& visit);
  /// `visit` must take the element.
  void elements(const std::function<void()>& visit);
  /// Fast path: takes numbers with the comma behind each from [begin, end), and returns the start of the
  /// next, or the closing bracket after the last. `end` points to a zero byte.
  using TakeMany = std::function<const char*(const char* begin, const char* end)>;
  /// Takes a number or "null". Must throw for an empty token, which means another value.
  using TakeOne = std::function<void(std::string_view token)>;
  /// Calls `many` first, and `one` for the elements that it leaves.
  void numbers(const TakeMany& many, const TakeOne& one);

  /// Without white space between tokens.
  std::string raw_value();
  Json value();
  /// Uses `take(JsonCursor)` if it succeeds and the value is within the window; otherwise takes nothing.
  template <typename Take>
  bool take_plainly(const Take& take) {
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
  bool at_end_ = false;
  PaddedText unpacked_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;  ///< of end_
  std::uint64_t size_ = 0;
  std::string* recorded_ = nullptr;  ///< receives the taken text
  std::size_t depth_ = 0;
};

}  // namespace headroom
