// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"

namespace headroom {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Parameters, ListsOfValues) {
  EXPECT_THAT(listed_parameter("n", "a,b,c").values, ElementsAre("a", "b", "c"));
  EXPECT_THAT(listed_parameter("n", "a\\,b,c\\d").values, ElementsAre("a,b", "c\\d"));
  EXPECT_THAT(listed_parameter("n", "a,").values, ElementsAre("a", "")) << "an empty value is one";
  EXPECT_THAT(message_of([] { listed_parameter("n", ""); }), HasSubstr("no values"));
  EXPECT_THAT(message_of([] { listed_parameter("n", "a,b,a"); }), HasSubstr("given twice"));
  EXPECT_THAT(message_of([] { listed_parameter("", "a"); }), HasSubstr("name of a parameter"));
  EXPECT_THAT(message_of([] { listed_parameter("{n}", "a"); }), HasSubstr("name of a parameter"));
}

TEST(Parameters, StepsAreExactInDecimal) {
  EXPECT_THAT(stepped_parameter("n", "1", "7", "3").values, ElementsAre("1", "4", "7"));
  EXPECT_THAT(stepped_parameter("n", "1", "8", "3").values, ElementsAre("1", "4", "7"));
  EXPECT_THAT(stepped_parameter("n", "0", "0.3", "0.1").values, ElementsAre("0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(stepped_parameter("n", "2", "-2", "-2").values, ElementsAre("2", "0", "-2"));
  EXPECT_THAT(stepped_parameter("n", "-0.5", "0.5", ".5").values, ElementsAre("-0.5", "0.0", "0.5"));
  EXPECT_THAT(stepped_parameter("n", "5", "5", "1").values, ElementsAre("5"));
}

TEST(Parameters, StepsThatLeadNowhereAreRefused) {
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "5", "0"); }),
              HasSubstr("do not lead from 1 to 5"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "5", "-1"); }), HasSubstr("do not lead"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "1e9", "1"); }),
              HasSubstr("'1e9' is not a decimal"));
  EXPECT_THAT(message_of([] { stepped_parameter("n", "1", "1000000", "1"); }), HasSubstr("more than 10000"));
  for (const char* wrong : {"", "x", "1.2.3", "1.-2", "0.1234567890", "99999999999999999999"}) {
    EXPECT_THAT(message_of([&] { stepped_parameter("n", wrong, "5", "1"); }), HasSubstr("parameter n"))
        << wrong;
  }
}

TEST(Parameters, PointsAreAllCombinations) {
  EXPECT_THAT(parameter_points({}), ElementsAre(AxisTexts{}));
  const std::vector<CommandParameter> two{{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  EXPECT_THAT(parameter_points(two),
              ElementsAre(AxisTexts{{"a", "1"}, {"b", "x"}}, AxisTexts{{"a", "1"}, {"b", "y"}},
                          AxisTexts{{"a", "2"}, {"b", "x"}}, AxisTexts{{"a", "2"}, {"b", "y"}}));
  const std::vector<CommandParameter> twice{{"a", {"1"}}, {"a", {"2"}}};
  EXPECT_THAT(message_of([&] { parameter_points(twice); }), HasSubstr("'a' is given twice"));
  const std::vector<CommandParameter> many(1, {"a", std::vector<std::string>(10'001)});
  EXPECT_THAT(message_of([&] { parameter_points(many); }), HasSubstr("combinations"));
}

}  // namespace
}  // namespace headroom
