// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace headroom::trace::readers {

/// simdjson's first stage: where the tokens of a text start, found 64 bytes at a time. Its second stage,
/// which looks at every token, is what reading a trace can do without.
class TokenIndex {
 public:
  TokenIndex();
  ~TokenIndex();

  /// The starts of the tokens of `text` and its end as one more; empty where the text is no proper UTF-8, has
  /// a control character in a string, or an odd number of quotes. Good until the next call. `text` has to be
  /// shorter than 4 GiB.
  std::span<const std::uint32_t> find(std::string_view text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace headroom::trace::readers
