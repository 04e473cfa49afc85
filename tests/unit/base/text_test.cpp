// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kNames{"gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"};

TEST(InQuotes, ShowsControlCharacters) {
  EXPECT_EQ(in_quotes("a\nb\x1b[0m"), "'a\\x0Ab\\x1B[0m'");
  EXPECT_EQ(in_quotes("µs"), "'µs'");
}

TEST(Visible, SpellsWhatSteersATerminal) {
  EXPECT_EQ(visible("a\x1b]0;owned\x07\x1b[31m\r\x7f"), "a\\x1B]0;owned\\x07\\x1B[31m\\x0D\\x7F");
  EXPECT_EQ(visible("\xC2\x9B"
                    "31m"),
            "\\u009B31m")
      << "CSI in one character";
  EXPECT_EQ(visible(std::string("nul\0!", 5)), "nul\\x00!");
}

TEST(Visible, SpellsWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(visible("a\u202Eb\u2066c\u200Fd\u061Ce\u2028f"), "a\\u202Eb\\u2066c\\u200Fd\\u061Ce\\u2028f");
}

TEST(Visible, SpellsBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("a\xFF\xC3(\xE2\x82"), "a\\xFF\\xC3(\\xE2\\x82");
}

TEST(Visible, LeavesTextAsItIs) {
  const std::string text = "12.5 µs ± 1 % ─ 漢字 😀 é \u00A0|\n\tdone";
  EXPECT_EQ(visible(text), text);
  EXPECT_EQ(visible(""), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Trimmed, CutsBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Nearest, FindsTypingErrorsAndPrefixes) {
  EXPECT_THAT(nearest("gmev", kNames), ElementsAre("gemv"));
  EXPECT_THAT(nearest("Layer-Norm", kNames), ElementsAre("layer_norm"));
  EXPECT_THAT(nearest("mlp", kNames), ElementsAre("mlp_layer_norm_gelu"));
  EXPECT_THAT(nearest("softmax", kNames), IsEmpty());
  EXPECT_THAT(nearest("", kNames), IsEmpty());
}

TEST(Nearest, PutsTheNearestFirstAndStopsAtTheCount) {
  const std::vector<std::string> names{"abcxyy", "abcdef", "abcdex", "abcdee"};
  EXPECT_THAT(nearest("abcdef", names, 2), ElementsAre("abcdef", "abcdex"));
}

TEST(DidYouMean, JoinsTheNames) {
  EXPECT_EQ(did_you_mean("gem", kNames), "; did you mean 'gemv'?");
  EXPECT_EQ(did_you_mean("ab", std::vector<std::string>{"abc", "abd", "abe"}),
            "; did you mean 'abc', 'abd' or 'abe'?");
  EXPECT_EQ(did_you_mean("softmax", kNames), "");
}

TEST(ToInteger, WantsTheWholeText) {
  EXPECT_EQ(to_integer("-12"), -12);
  for (const char* text : {"", "1x", " 1", "1.0", "9223372036854775808"})
    EXPECT_FALSE(to_integer(text)) << text;
}

TEST(ToNumber, WantsTheWholeTextAndAFiniteNumber) {
  EXPECT_EQ(to_number("-1.5e3"), -1500.0);
  for (const char* text : {"", "1,5", "1 ", "nan", "inf", "1e999"}) EXPECT_FALSE(to_number(text)) << text;
}

TEST(DisplayWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("±µ─"), 3U);
}

}  // namespace
}  // namespace headroom
