// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/value_skip.h"

namespace headroom::trace::readers {

std::size_t ValueSkip::take_string(std::string_view piece, std::size_t at) {
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

std::size_t ValueSkip::take(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size() && !is_over_) {
    if (in_string_) {
      at = take_string(piece, at);
      continue;
    }
    const char c = piece[at];
    const bool ends_scalar = depth_ == 0 && has_begun_;
    if (c == '}' || c == ']') {
      // A value that begins with one is none, and one that ends a scalar is not part of it.
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

}  // namespace headroom::trace::readers
