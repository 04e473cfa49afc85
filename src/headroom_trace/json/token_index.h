// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace headroom::trace::readers {

/// Finds tokens with simdjson's first stage only.
class TokenIndex {
 public:
  TokenIndex();
  ~TokenIndex();

  /// Returns the token offsets, then the end twice; empty for invalid UTF-8, a control character in a string
  /// or an odd number of quotes. Valid until the next call. `text` must be below 4 GiB.
  std::span<const std::uint32_t> find(std::string_view text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace headroom::trace::readers
