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

TEST(TomlText, HeadersHaveNames) {
  for (const char* text : {"[[\n", "[\n", "  [[ \n", "[[=", "[[[", "[#", "[\r\n", "a = 1\n[[\nb = 2\n"})
    EXPECT_THAT(refusal(text), HasSubstr("a header needs a name")) << text;
  EXPECT_THAT(refusal("a = [[\n1]]\n[[\n"), HasSubstr("line 3, column 3: "))
      << "brackets of a value are none";
  for (const char* text : {"[a]\n", "[[ a ]]", "[\"a\"]\n", "[-]\n", "[", "[[", "[]\n", "[ [a]]",
                           "a = [\n[[\n1]]]\nb = {c = [\n]}\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, EndsAtTheEndOfAnything) {
  const std::string text = "[a]\nb = \"\"\"c\\\"\"\"\"\nd = '''e'''''\n# f\ng = [1, {h = \"\\i\"}]\n";
  for (std::size_t size = 0; size <= text.size(); ++size) EXPECT_EQ(refusal(text.substr(0, size)), "");
}

}  // namespace
}  // namespace headroom
