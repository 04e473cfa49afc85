// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/structural_walk.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace headroom::trace::readers {
namespace {

/// Tokens of one character each. More than half of them go on with what is open as JSON does, so that some of
/// the texts end well, and deep ones do.
std::string any_tokens(std::mt19937& random) {
  constexpr std::string_view kAny = "[]{}:,1", kOpeners = "[{";
  std::string text, open = "{";
  for (auto left = random() % 40; left > 0 && !open.empty(); --left) {
    const auto way = random() % 16;
    if (way == 0) {
      text += kAny[random() % kAny.size()];
    } else if (way < 7) {
      text += open.back() == '{' ? "1:" : "";
      text += kOpeners[random() % kOpeners.size()];
      open += text.back();
      continue;
    } else if (way < 10) {
      text += open.back() == '{' ? "1:1" : "1";
    }
    text += way % 2 == 0 ? "," : open.back() == '{' ? "}" : "]";
    if (text.back() != ',') open.pop_back();
  }
  while (!open.empty() && random() % 8 != 0) {
    text += open.back() == '{' ? '}' : ']';
    open.pop_back();
  }
  return text + "1";
}

TEST(StructuralWalk, PastTheCloseByStatesIsWhereEveryBracketWasLookedAt) {
  std::mt19937 random(5);
  std::size_t closed = 0, broken = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = any_tokens(random);
    std::vector<std::uint32_t> tokens(text.size() + 2);
    std::iota(tokens.begin(), tokens.end(), 0U);
    tokens.back() = tokens[text.size()];
    const Walk walk{text.c_str(), tokens.data()};
    for (const bool is_object : {false, true}) {
      for (const Role before : {kValue, kComma, Role{kOpens | kStartsValue}}) {
        const Walk expected = past_any_close(walk, is_object, before);
        ASSERT_EQ(past_close(walk, is_object, before).at, expected.at) << text << is_object << int{before};
        ++(expected.at == nullptr ? broken : closed);
      }
    }
  }
  EXPECT_GT(closed, 50'000U);
  EXPECT_GT(broken, 50'000U);
}

}  // namespace
}  // namespace headroom::trace::readers
