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

#include "headroom/base/padded_text.h"
#include "headroom/report/decimal_sample.h"

namespace headroom {

/// Reads a JSON file from front to back through a small window, so that a report of any size takes the memory
/// of what is kept of it. Made for long lists of numbers. Everything passed over is checked to be JSON. All
/// functions throw Error with the path and the byte offset where the text is not what was asked for.
class JsonStream {
 public:
  /// A plain file, a pipe, or one compressed with gzip or zstd (those are unpacked into memory).
  explicit JsonStream(const std::filesystem::path& path);
  ~JsonStream();
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  /// First character of what comes next: '{', '[', '"', 't', 'f', 'n', '-' or a digit of a value; '\0' at the
  /// end.
  char peek();

  /// Goes through an object; `visit` gets the key and must take its value.
  void members(const std::function<void(const std::string& key)>& visit);
  /// Goes through an array; `visit` must take each element.
  void elements(const std::function<void()>& visit);
  /// Takes an array of numbers and adds them.
  void numbers(DecimalSample& sample);
  /// Takes any value and returns its text.
  std::string raw_value();
  /// Takes any value.
  void skip_value();
  /// Nothing but white space may follow.
  void finish();

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  bool refill();
  void take(char expected);
  void take_string();
  void take_literal(std::string_view literal);
  void take_any();
  void take_plain_decimals(DecimalSample& sample);
  std::string_view number_token();
  void record(std::string_view text);

  std::string source_;
  int file_ = -1;
  bool at_end_ = false;  ///< nothing more to read into the window
  PaddedText unpacked_;
  std::vector<char> window_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;         ///< of end_ in the text
  std::string* recorded_ = nullptr;  ///< gets what is taken
  std::size_t depth_ = 0;
};

}  // namespace headroom
