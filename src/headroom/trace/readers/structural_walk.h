// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "headroom/trace/readers/json_text.h"

namespace headroom::trace::readers {

/// A place in the structurals of a text (tolerant_scan.h, or simdjson's first stage). The structurals end
/// with one more, the end of the text, and the text with a zero that may be read: there every walk stops.
struct Walk {
  const char* text = nullptr;
  const std::uint32_t* at = nullptr;  ///< the token here

  char token() const { return text[*at]; }
};

/// What a token does, by its first character.
enum class Role : std::uint8_t { kValue, kOpen, kClose, kSeparator, kEnd };

inline constexpr std::array<Role, 256> kRoles = [] {
  std::array<Role, 256> roles{};
  roles['{'] = roles['['] = Role::kOpen;
  roles['}'] = roles[']'] = Role::kClose;
  roles[':'] = roles[','] = Role::kSeparator;
  roles[0] = Role::kEnd;
  return roles;
}();

inline Role role_of(const Walk& walk) {
  return kRoles[static_cast<unsigned char>(walk.token())];
}

/// The scalar or string whose token is here; empty for a string without its end.
inline Raw scalar_at(const Walk& walk) {
  const char* const first = walk.text + walk.at[0];
  const char* last = walk.text + walk.at[1] - 1;
  while (last > first && (*last == ' ' || *last == '\n' || *last == '\r' || *last == '\t')) --last;
  if (*first == '"' && (last == first || *last != '"')) return {};
  return {first, static_cast<std::size_t>(last - first + 1)};
}

/// Moves past the end of the array or object that is `depth` levels out, from the inside; `before` is the
/// role of the token before. False when it has no end or two values stand side by side without an operator:
/// then a quote is missing or too many somewhere, and the rest means nothing.
inline bool skip_to_close(Walk& walk, std::int64_t depth, Role before) {
  for (;; ++walk.at) {
    const Role role = role_of(walk);
    switch (role) {
      case Role::kClose:
        if (--depth == 0) {
          ++walk.at;
          return true;
        }
        break;
      case Role::kOpen:
        ++depth;
        break;
      case Role::kValue:
        if (before == Role::kValue) return false;
        break;
      case Role::kSeparator:
        break;
      case Role::kEnd:
        return false;
    }
    before = role;
  }
}

/// Moves past the value that starts here. False when it is broken, as above.
inline bool skip_value(Walk& walk) {
  const Role role = role_of(walk);
  if (role == Role::kValue) {
    ++walk.at;
    return true;
  }
  if (role != Role::kOpen) return false;
  ++walk.at;
  return skip_to_close(walk, 1, Role::kOpen);
}

/// Moves past the value and gives its bytes.
inline bool take_value(Walk& walk, Raw& value) {
  const std::uint32_t first = *walk.at;
  const Role role = role_of(walk);
  if (role == Role::kValue) {
    value = scalar_at(walk);
    ++walk.at;
    return !value.empty();
  }
  if (!skip_value(walk)) return false;
  value = Raw(walk.text + first, walk.at[-1] + 1 - first);
  return true;
}

/// What a member of an object made of its value.
enum class Member {
  kTaken,   ///< moved past it
  kBroken,  ///< could not
  kLast     ///< moved past the end of the whole object
};

/// The members of the object whose { is here: calls `member(key)` with the walk on the value's first token.
/// Afterwards the walk is past the }. Trailing commas are forgiven. False when the object is broken.
template <typename OnMember>
inline bool walk_object(Walk& walk, OnMember on_member) {
  ++walk.at;
  while (walk.token() == '"') {
    const Raw key = scalar_at(walk);
    if (key.empty() || walk.text[walk.at[1]] != ':') return false;
    walk.at += 2;
    const Member member = on_member(Raw(key.data() + 1, key.size() - 2));
    if (member == Member::kBroken) return false;
    if (member == Member::kLast) return true;
    if (walk.token() == ',') {
      ++walk.at;
    } else if (walk.token() != '}') {
      return false;
    }
  }
  if (walk.token() != '}') return false;
  ++walk.at;
  return true;
}

}  // namespace headroom::trace::readers
