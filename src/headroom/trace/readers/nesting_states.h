// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom::trace::readers {

/// Where a walk over tokens stands that skips an array or object: which brackets are open, up to five, and
/// what the token before was. One look at a table for two tokens: most of a trace is skipped so, and each
/// look waits for the one before it. What does not nest as it should, or deeper, ends it.
using NestingState = std::uint8_t;

/// The open brackets as a number: a one, and a bit for each of them, the innermost last, set for objects.
inline constexpr unsigned kNothingOpen = 1, kMostOpen = 64;
/// What the token before was.
inline constexpr unsigned kOtherBefore = 0, kValueBefore = 1, kCommaBefore = 2, kBefores = 3;

inline constexpr NestingState kFirstStop = kMostOpen * kBefores, kClosed = kFirstStop,
                              kClosedBefore = kFirstStop + 1,  ///< by the first of two tokens
    kNotSimple = kFirstStop + 2;

constexpr NestingState state_of(unsigned open, unsigned before) {
  if (open >= kMostOpen) return kNotSimple;
  return open == kNothingOpen ? kClosed : static_cast<NestingState>(open * kBefores + before);
}

constexpr NestingState state_inside(bool is_object, bool is_after_value, bool is_after_comma) {
  return state_of(2 * kNothingOpen + (is_object ? 1 : 0), is_after_value   ? kValueBefore
                                                          : is_after_comma ? kCommaBefore
                                                                           : kOtherBefore);
}

inline constexpr std::size_t kTokenKinds = 8;  // the rest are values

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

/// The state after both; what the second is plays no part where the first ends the walk.
inline NestingState next_state(NestingState state, char first, char second) {
  const std::size_t pair = kTokenKind[static_cast<unsigned char>(first)] * kTokenKinds +
                           kTokenKind[static_cast<unsigned char>(second)];
  return kNextStates[state * kKindPairs + pair];
}

}  // namespace headroom::trace::readers
