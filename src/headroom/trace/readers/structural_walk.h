// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/nesting_states.h"

namespace headroom::trace::readers {

/// A place in the structurals of a text (tolerant_scan.h, or simdjson's first stage). The structurals end
/// with two more, both the end of the text, and the text with a zero that may be read: there every walk
/// stops.
struct Walk {
  const char* text = nullptr;
  const std::uint32_t* at = nullptr;  ///< the token here; nullptr: what was walked over is broken

  char token() const { return text[*at]; }
  char next_token() const { return text[at[1]]; }
};

/// What a token does, by its first character: bits, so that a walk over many needs no branches.
using Role = std::uint8_t;
inline constexpr Role kOpens = 1, kCloses = 2, kStartsValue = 4, kEndsValue = 8, kOfObject = 16, kComma = 32,
                      kEnd = 64;
inline constexpr Role kValue = kStartsValue | kEndsValue;  ///< a number, a word, a string: also a key

inline constexpr std::array<Role, 256> kRoles = [] {
  std::array<Role, 256> roles{};
  roles.fill(kValue);
  roles['['] = kOpens | kStartsValue;
  roles['{'] = kOpens | kStartsValue | kOfObject;
  roles[']'] = kCloses | kEndsValue;
  roles['}'] = kCloses | kEndsValue | kOfObject;
  roles[':'] = 0;
  roles[','] = kComma;
  roles[0] = kEnd;
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

/// past_close of what nests deeply, or seems broken.
inline Walk past_any_close(Walk walk, bool is_object, Role before) {
  constexpr std::int64_t kLevels = 64;
  unsigned side_by_side = 0, unmatched = 0;
  std::int64_t depth = 1, deepest = 1;
  // Of the brackets around, the innermost last, whether they are of objects; as many as it holds.
  std::uint64_t around = is_object ? 1 : 0;
  for (;; ++walk.at) {
    const Role role = role_of(walk);
    // No branch but for the end: what a token is cannot be foreseen.
    const unsigned opens = role & 1U, closes = role >> 1U & 1U, of_object = role >> 4U & 1U;
    const auto inside = static_cast<unsigned>(around & 1U);
    side_by_side |= before >> 1U & role & kStartsValue;
    unmatched |= (before >> 5U & opens & inside) | (closes & (inside ^ of_object));
    around = (around << opens | (opens & of_object)) >> closes;
    depth += static_cast<std::int64_t>(opens) - static_cast<std::int64_t>(closes);
    deepest = depth > deepest ? depth : deepest;
    if (depth == 0 || role == kEnd) break;
    before = role;
  }
  if (depth != 0 || side_by_side != 0 || (unmatched != 0 && deepest <= kLevels)) return {};
  ++walk.at;
  return walk;
}

/// Past the end of the array or object whose inside this is; `before` is the role of the token before. Broken
/// when it has no end, when brackets do not match, when two values stand side by side without an operator, or
/// a bracket where an object has a key: then a quote or a bracket is missing or too many somewhere, and the
/// rest means nothing.
inline Walk past_close(Walk walk, bool is_object, Role before) {
  NestingState state = state_inside(is_object, (before & kEndsValue) != 0, (before & kComma) != 0);
  const std::uint32_t* at = walk.at;
  for (; state < kFirstStop; at += 2) state = next_state(state, walk.text[at[0]], walk.text[at[1]]);
  if (state == kNotSimple) return past_any_close(walk, is_object, before);
  return {walk.text, state == kClosed ? at : at - 1};
}

/// Past the value that starts here. Broken as above.
inline Walk past_value(Walk walk) {
  const Role role = role_of(walk);
  ++walk.at;
  if (role == kValue) return walk;
  return (role & kOpens) != 0 ? past_close(walk, (role & kOfObject) != 0, role) : Walk{};
}

/// The same, and its bytes.
inline Walk take_value(Walk walk, Raw& value) {
  if (role_of(walk) == kValue) {
    value = scalar_at(walk);
    ++walk.at;
    return value.empty() ? Walk{} : walk;
  }
  const Walk after = past_value(walk);
  if (after.at != nullptr) value = Raw(walk.text + *walk.at, after.at[-1] + 1 - *walk.at);
  return after;
}

/// What a member of an object made of its value: the walk after it, or after the whole object.
struct AfterMember {
  Walk walk;
  bool is_last = false;
};

/// The members of the object whose { is here: calls `on_member(key, walk)` with the walk on the value's first
/// token. Trailing commas are forgiven. Gives the walk after the }.
template <typename OnMember>
inline Walk walk_object(Walk walk, OnMember on_member) {
  ++walk.at;
  while (walk.token() == '"') {
    const Raw key = scalar_at(walk);
    if (key.empty() || walk.next_token() != ':') return {};
    walk.at += 2;
    const AfterMember after = on_member(Raw(key.data() + 1, key.size() - 2), walk);
    if (after.walk.at == nullptr || after.is_last) return after.walk;
    walk.at = after.walk.at;
    if (walk.token() == ',') {
      ++walk.at;
    } else if (walk.token() != '}') {
      return {};
    }
  }
  if (walk.token() != '}') return {};
  ++walk.at;
  return walk;
}

}  // namespace headroom::trace::readers
