// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/placeholders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::ElementsAre;

TEST(Placeholders, AreNamesInBraces) {
  EXPECT_THAT(placeholder_names("--only={model} {layer.env:A}"), ElementsAre("model", "layer.env:A"));
  EXPECT_EQ(fill_placeholders("{a}{b}-{a}", {{"a", "1"}, {"b", "{a}"}}), "1{a}-1")
      << "values are not looked at again";
  EXPECT_EQ(fill_placeholders("{{{a}}}", {{"a", "1"}}), "{1}");
}

TEST(Placeholders, NeedTheirBracesAndAMeaning) {
  EXPECT_THROW(placeholder_names("{a"), Error);
  EXPECT_THROW(placeholder_names("a}"), Error);
  EXPECT_THROW(placeholder_names("{}"), Error);
  EXPECT_THROW(fill_placeholders("{b}", {{"a", "1"}}), Error);
}

TEST(Placeholders, OtherBracesOfACommandStay) {
  const std::vector<std::string> known{"work"};
  for (const std::string text : {"awk '{print $1}'", "{\"a\": {}}", "}{", "{", "{{work", "x"}) {
    EXPECT_EQ(fill_placeholders(escape_unknown_placeholders(text, known), {}), text);
  }
  EXPECT_EQ(fill_placeholders(escape_unknown_placeholders("{work}/{x}", known), {{"work", "W"}}), "W/{x}");
}

}  // namespace
}  // namespace headroom
