// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {

/// State while skipping an array or object: up to five open brackets and the kind of the previous token. One
/// look-up handles two tokens, as look-ups are serial. Wrong or deeper nesting stops it.
using NestingState = std::uint8_t;

/// Open brackets: a leading one bit, then one bit each, innermost last, set for objects.
inline constexpr unsigned kNothingOpen = 1, kMaxOpen = 64;
inline constexpr unsigned kOtherBefore = 0, kValueBefore = 1, kCommaBefore = 2, kBefores = 3;

inline constexpr NestingState kFirstStop = kMaxOpen * kBefores, kClosed = kFirstStop,
                              kClosedBefore = kFirstStop + 1,  ///< closed by the first of two tokens
    kNotSimple = kFirstStop + 2;

constexpr NestingState state_of(unsigned open, unsigned before) {
  if (open >= kMaxOpen) return kNotSimple;
  return open == kNothingOpen ? kClosed : static_cast<NestingState>(open * kBefores + before);
}

constexpr NestingState state_inside(bool is_object, bool is_after_value, bool is_after_comma) {
  return state_of(2 * kNothingOpen + (is_object ? 1 : 0), is_after_value   ? kValueBefore
                                                          : is_after_comma ? kCommaBefore
                                                                           : kOtherBefore);
}

inline constexpr std::size_t kTokenKinds = 8;

constexpr std::uint8_t token_kind(char token) {
  constexpr char kTokens[kTokenKinds - 1] = {'[', '{', ']', '}', ':', ',', '\0'};
  for (std::size_t kind = 0; kind + 1 < kTokenKinds; ++kind) {
    if (kTokens[kind] == token) return static_cast<std::uint8_t>(kind);
  }
  return kTokenKinds - 1;
}

inline constexpr std::array<std::uint8_t, 256> kTokenKind = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = token_kind(static_cast<char>(i));
  return kinds;
}();

constexpr NestingState state_after(unsigned open, unsigned before, char token) {
  const bool is_object = token == '{' || token == '}';
  const bool is_in_object = (open & 1U) != 0;
  switch (token) {
    case '\0':
      return kNotSimple;
    case ':':
      return state_of(open, kOtherBefore);
    case ',':
      return state_of(open, kCommaBefore);
    case ']':
    case '}':
      return is_object == is_in_object ? state_of(open / 2, kValueBefore) : kNotSimple;
    case '[':
    case '{':
      if (before == kValueBefore || (before == kCommaBefore && is_in_object)) return kNotSimple;
      return state_of(2 * open + (is_object ? 1 : 0), kOtherBefore);
    default:
      return before == kValueBefore ? kNotSimple : state_of(open, kValueBefore);
  }
}

inline constexpr std::size_t kKindPairs = kTokenKinds * kTokenKinds, kTransitions = kFirstStop * kKindPairs;
inline constexpr std::array<NestingState, kTransitions> kNextStates = [] {
  std::array<NestingState, kFirstStop * kTokenKinds> by_one{};
  for (std::size_t state = 2 * kBefores; state < kFirstStop; ++state) {
    for (const char token : {'[', '{', ']', '}', ':', ',', '\0', '"'}) {
      by_one[state * kTokenKinds + token_kind(token)] = state_after(
          static_cast<unsigned>(state / kBefores), static_cast<unsigned>(state % kBefores), token);
    }
  }
  std::array<NestingState, kTransitions> next{};
  for (std::size_t from = 2 * kBefores * kTokenKinds; from < by_one.size(); ++from) {
    const NestingState first = by_one[from];
    for (std::size_t kind = 0; kind < kTokenKinds; ++kind) {
      next[from * kTokenKinds + kind] = first < kFirstStop ? by_one[first * kTokenKinds + kind]
                                        : first == kClosed ? kClosedBefore
                                                           : first;
    }
  }
  return next;
}();

/// Ignores the second token if the first ends the walk.
inline NestingState next_state(NestingState state, char first, char second) {
  const std::size_t pair = kTokenKind[static_cast<unsigned char>(first)] * kTokenKinds +
                           kTokenKind[static_cast<unsigned char>(second)];
  return kNextStates[state * kKindPairs + pair];
}

/// A position in the tokens of a text, which end with the end of the text twice; the zero there stops every
/// walk.
struct Walk {
  const char* text = nullptr;
  const std::uint32_t* at = nullptr;  ///< nullptr: broken

  char token() const { return text[*at]; }
  char next_token() const { return text[at[1]]; }
};

/// Token properties as bits, for branch-free walks.
using Role = std::uint8_t;
inline constexpr Role kOpens = 1, kCloses = 2, kStartsValue = 4, kEndsValue = 8, kOfObject = 16, kComma = 32,
                      kEnd = 64;
inline constexpr Role kValue = kStartsValue | kEndsValue;  ///< number, word, string or key

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

/// Returns the scalar at the walk; empty for an unterminated string.
inline Raw scalar_at(const Walk& walk) {
  const char* const first = walk.text + walk.at[0];
  const char* last = walk.text + walk.at[1] - 1;
  while (last > first && (*last == ' ' || *last == '\n' || *last == '\r' || *last == '\t')) --last;
  if (*first == '"' && (last == first || *last != '"')) return {};
  return {first, static_cast<std::size_t>(last - first + 1)};
}

/// past_close for deep nesting or damage.
inline Walk past_any_close(Walk walk, bool is_object, Role before) {
  constexpr std::int64_t kLevels = 64;
  unsigned side_by_side = 0, unmatched = 0;
  std::int64_t depth = 1, deepest = 1;
  // Open brackets, innermost last, set for objects; the oldest drop out.
  std::uint64_t around = is_object ? 1 : 0;
  for (;; ++walk.at) {
    const Role role = role_of(walk);
    // Branch only at the end: tokens are unpredictable.
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

/// Skips past the end of the enclosing array or object; `before`: role of the previous token. Broken if there
/// is no end, brackets mismatch, values are adjacent, or a bracket replaces a key.
inline Walk past_close(Walk walk, bool is_object, Role before) {
  NestingState state = state_inside(is_object, (before & kEndsValue) != 0, (before & kComma) != 0);
  const std::uint32_t* at = walk.at;
  for (; state < kFirstStop; at += 2) state = next_state(state, walk.text[at[0]], walk.text[at[1]]);
  if (state == kNotSimple) return past_any_close(walk, is_object, before);
  return {walk.text, state == kClosed ? at : at - 1};
}

inline Walk past_value(Walk walk) {
  const Role role = role_of(walk);
  ++walk.at;
  if (role == kValue) return walk;
  return (role & kOpens) != 0 ? past_close(walk, (role & kOfObject) != 0, role) : Walk{};
}

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

/// The walk after the value, or, if is_last, after the whole object.
struct AfterMember {
  Walk walk;
  bool is_last = false;
};

/// Calls `on_member(key, walk)` with the walk at the value. Tolerates trailing commas. Returns the walk after
/// the }.
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
