// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/trace/readers/json_text.h"

namespace headroom::trace {

/// A place in the structurals of a text (tolerant_scan.h, or simdjson's first stage). The text may be read
/// up to 64 bytes past its end; the structurals end with one more, the end of the text.
struct Walk {
  const char* text = nullptr;
  const std::uint32_t* at = nullptr;   ///< the token here
  const std::uint32_t* end = nullptr;  ///< the one more

  char token() const { return text[*at]; }
  bool at_end() const { return at == end; }
};

/// The scalar or string whose token is here; empty for a string without its end.
inline Raw scalar_at(const Walk& walk) {
  const char* const first = walk.text + walk.at[0];
  const char* last = walk.text + walk.at[1] - 1;
  while (last > first && (*last == ' ' || *last == '\n' || *last == '\r' || *last == '\t')) --last;
  if (*first == '"' && (last == first || *last != '"')) return {};
  return {first, static_cast<std::size_t>(last - first + 1)};
}

/// Moves past the value that starts here. False when its brackets do not close or two values stand side by
/// side without an operator: then a quote is missing or too many somewhere, and the rest means nothing.
bool skip_value(Walk& walk);

/// Moves past the value and gives its bytes.
bool take_value(Walk& walk, Raw& value);

/// The keys of the object whose { is here: calls `member(key)` with the walk on the value's first token; it
/// has to move past the value and return true, or return false to give up. Afterwards the walk is past the }.
/// Trailing commas are forgiven. False when the object is broken.
template <typename Member>
bool walk_object(Walk& walk, Member member) {
  ++walk.at;
  for (;;) {
    if (walk.at_end()) return false;
    if (walk.token() == '}') break;
    if (walk.token() != '"') return false;
    const Raw key = scalar_at(walk);
    ++walk.at;
    if (key.empty() || walk.at_end() || walk.token() != ':') return false;
    ++walk.at;
    if (walk.at_end() || !member(without_quotes(key)) || walk.at_end()) return false;
    if (walk.token() == ',') {
      ++walk.at;
    } else if (walk.token() != '}') {
      return false;
    }
  }
  ++walk.at;
  return true;
}

}  // namespace headroom::trace
