// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace headroom::trace::readers {

/// Finds the tokens of a text, 64 bytes at a time, with simdjson's first stage. Reading a trace does not need
/// its second stage, which looks at every token.
class TokenIndex {
 public:
  TokenIndex();
  ~TokenIndex();

  /// The offsets of the tokens of `text` and twice its end; empty if the text is invalid UTF-8 or has a
  /// control character in a string or an odd number of quotes. Valid until the next call. `text` must be
  /// shorter than 4 GiB.
  std::span<const std::uint32_t> find(std::string_view text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace headroom::trace::readers
