// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/toml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::HasSubstr;

/// Empty where nothing is refused.
std::string refusal(std::string_view text) {
  try {
    refuse_impossible_toml(text, "a.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TomlText, CharactersBeyondAsciiStandInStringsAndCommentsOnly) {
  EXPECT_EQ(refusal("\xEF\xBB\xBF# naïve\n\"naïve\" = 'naïve' # é\n"), "");
  EXPECT_EQ(refusal("a = \"\"\"é\n\\\"\"\" é\"\"\"\nb = '''é\n'é''''\nc = \"\\\"é\" # é\n"), "");
  EXPECT_THAT(refusal("a = 1\nnaïve = 2\n"), HasSubstr("a.toml: line 2, column 3: a character beyond ASCII"));
  EXPECT_THAT(refusal("a = \"é\" é\n"), HasSubstr("line 1, column 9: "));
  EXPECT_THAT(refusal("[é]\n"), HasSubstr("line 1, column 2: "));
  EXPECT_THAT(refusal("a = \"\" é"), HasSubstr("line 1, column 8: "));
  EXPECT_THAT(refusal("a = '\\' é"), HasSubstr("line 1, column 9: "))
      << "a backslash is one in single quotes";
  EXPECT_THAT(refusal("a = \"\"\"é\"\"\"\"\"é"), HasSubstr("line 1, column 14: "))
      << "two quotes end with three";
  EXPECT_THAT(refusal("a = \"\n\xC3"), HasSubstr("line 2, column 1: ")) << "a string ends with its line";
}

TEST(TomlText, BackslashesAreBeforeAscii) {
  for (const char* text : {"a = \"\\é\"", "a = \"\"\"\\ é\"\"\"", "a = \"\"\"b \\\n  é\"\"\""})
    EXPECT_THAT(refusal(text), HasSubstr("a character beyond ASCII after a backslash")) << text;
  EXPECT_EQ(refusal("a = '\\é'\nb = \"\"\"c \\\n  dé\"\"\""), "");
}

TEST(TomlText, HeadersHaveNames) {
  for (const char* text : {"[[\n", "[\n", "  [[ \n", "[[=", "[[[", "[#", "[\r\n", "a = 1\n[[\nb = 2\n"})
    EXPECT_THAT(refusal(text), HasSubstr("a header needs a name")) << text;
  EXPECT_THAT(refusal("a = [[\n1]]\n[[\n"), HasSubstr("line 3, column 3: "))
      << "brackets of a value are none";
  for (const char* text : {"[a]\n", "[[ a ]]", "[\"a\"]\n", "[-]\n", "[", "[[", "[]\n", "[ [a]]",
                           "a = [\n[[\n1]]]\nb = {c = [\n]}\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, BracketsCloseWhatTheyOpened) {
  EXPECT_THAT(refusal("a = [1, }\n"), HasSubstr("line 1, column 9: } where ] is to close first"));
  EXPECT_THAT(refusal("a = {b = [1}]\n"), HasSubstr("line 1, column 12: } where ] is to close first"));
  EXPECT_THAT(refusal("a = {b = 1]"), HasSubstr("] where } is to close first"));
}

TEST(TomlText, StringsBeginByThemselves) {
  for (const char* text : {"a = 1\"é\"", "a = 1.\"é\"", "a = [1'é']", "a = {b = 1, c = 2'é'}", "a = 'b''é'",
                           "a = 2['é']", "a = [1{"})
    EXPECT_THAT(refusal(text), HasSubstr("in the middle of a value")) << text;
  for (const char* text : {"a.\"é\".'b' = {c.\"é\" = 'd',\"e\"=\"f\"}", "[a.\"é\"]", "a = ['é',\"é\"\n,'é']"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, ValuesHoldNoEqualsSign) {
  for (const char* text :
       {"a = 1='é'", "a = [b = 1]", "a = {b = 1} = 2", "a = {b = c = 1}", "[a]\nb = 1 = 2"})
    EXPECT_THAT(refusal(text), HasSubstr("= in the middle of a value")) << text;
  for (const char* text : {"a = {b = 1, c = {d = 2}, e = [{f = 3}, {g = 4}]}\nh = 5", "a = '=' # =\nb = 1"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, DatesHaveTimesAfterTheirT) {
  for (const char* text : {"a = 1979-05-27T", "a = 1979-05-27t:07\n", "a = [1979-05-27T_07:32:00]"})
    EXPECT_THAT(refusal(text), HasSubstr("a date with T needs a time")) << text;
  for (const char* text : {"a = 1979-05-27 1,, \n", "a = 1979_-05-27 1", "a = [1abc-de-fg 1]", "a = 'b' 1"})
    EXPECT_THAT(refusal(text), HasSubstr("a digit after a value")) << text;
  for (const char* text : {"a = 1979-05-27 07:32:00", "a = [ 1, 2 , 3 ]\nb = 4", "a = 1979-05-27T07:32:00Z",
                           "a = 1979-05-27 # T", "aT = 1\n1-2T = 1", "a = \"1979-05-27T\""})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, EndsAtTheEndOfAnything) {
  const std::string text = "[a]\nb = \"\"\"c\\\"\"\"\"\nd = '''e'''''\n# f\ng = [1, {h = \"\\i\"}]\n";
  for (std::size_t size = 0; size <= text.size(); ++size) EXPECT_EQ(refusal(text.substr(0, size)), "");
}

}  // namespace
}  // namespace headroom
