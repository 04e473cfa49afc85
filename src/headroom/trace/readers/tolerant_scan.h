// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::trace::readers {

/// Where the tokens of a text start: each of { } [ ] : , and the first byte of each string (its quote) and of
/// each other scalar. simdjson's first stage makes the same from whole windows.
using Structurals = std::vector<std::uint32_t>;

struct Scan {
  enum class End {
    kComplete,  ///< `at` is one past the value
    kBroken,    ///< its grammar breaks at `at`: what comes there cannot stand there
    kOpen       ///< the text ends inside it
  };
  End end = End::kOpen;
  std::uint32_t at = 0;
  const char* what = "";         ///< kBroken: what is wrong there
  bool had_control = false;      ///< a control character stands unescaped in a string
  bool had_inner_quote = false;  ///< a quote inside a string was not escaped, and taken as a part of it
};

/// Reads one JSON value from `at`, appends its structurals, and forgives what can only be meant in one way:
/// trailing commas, control characters in strings, quotes in strings after which no token can follow, bare
/// words such as NaN. Its structurals end with two more, both the end of the value, when it is complete.
Scan scan_value(std::string_view text, std::uint32_t at, Structurals& structurals);

/// The first byte that is no white space, from `at` on; text.size() when there is none.
std::uint32_t skip_space(std::string_view text, std::uint32_t at);

}  // namespace headroom::trace::readers
