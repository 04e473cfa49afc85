// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom::trace::readers {

/// Goes past a JSON value of any size that comes in pieces, by its brackets and quotes alone.
class ValueSkip {
 public:
  /// Takes the next piece. Returns how much of it belongs to the value; the value is over when is_over().
  std::size_t take(std::string_view piece);
  bool is_over() const { return is_over_; }

 private:
  std::size_t take_string(std::string_view piece, std::size_t at);

  std::int64_t depth_ = 0;
  bool has_begun_ = false, in_string_ = false, after_backslash_ = false, is_over_ = false;
};

}  // namespace headroom::trace::readers
