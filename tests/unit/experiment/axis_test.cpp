// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> values_of(const std::string& text) {
  return parse_axis_request(text).values;
}

std::string error_of(const std::string& text) {
  return test::message_of([&] { parse_axis_request(text); });
}

const Axis kSize{"D", Axis::Kind::kInteger, {"1024", "4096"}};
const Axis kDtype{"dtype", Axis::Kind::kText, {"int8", "bf16"}};

TEST(AxisRequest, ListsKeepTheirOrder) {
  const AxisRequest request = parse_axis_request("D=4096,64,1024");
  EXPECT_EQ(request.name, "D");
  EXPECT_THAT(request.values, ElementsAre("4096", "64", "1024"));
  EXPECT_THAT(values_of("dtype=int8,bf16"), ElementsAre("int8", "bf16"));
}

TEST(AxisRequest, RangesHaveBothEnds) {
  EXPECT_THAT(values_of("D=1024-16384*2"), ElementsAre("1024", "2048", "4096", "8192", "16384"));
  EXPECT_THAT(values_of("D=64-200+64"), ElementsAre("64", "128", "192"));
  EXPECT_THAT(values_of("D=3-5"), ElementsAre("3", "4", "5"));
  EXPECT_THAT(values_of("D=7-7*10"), ElementsAre("7"));
  EXPECT_THAT(values_of("D=1,10-30+10,5"), ElementsAre("1", "10", "20", "30", "5"));
}

TEST(AxisRequest, WhatOnlyLooksLikeARangeIsAValue) {
  EXPECT_THAT(values_of("model=llama-7b"), ElementsAre("llama-7b"));
  EXPECT_THAT(values_of("model=a-b*c"), ElementsAre("a-b*c"));
  EXPECT_THAT(values_of("text=a=b"), ElementsAre("a=b"));
  EXPECT_THAT(values_of("D=-5"), ElementsAre("-5"));
}

TEST(AxisRequest, WhatIsNotARequestIsRefusedByName) {
  EXPECT_THAT(error_of("D"), HasSubstr("'D' is not of the form name=value"));
  EXPECT_THAT(error_of("=1"), HasSubstr("'=1' is not of the form"));
  EXPECT_THAT(error_of("D="), HasSubstr("'D=' has an empty value"));
  EXPECT_THAT(error_of("D=1,,2"), HasSubstr("has an empty value"));
  EXPECT_THAT(error_of("D=1,"), HasSubstr("has an empty value"));
}

TEST(AxisRequest, RangesThatNeverEndAreRefused) {
  for (const char* text :
       {"D=1-10*1", "D=0-10*2", "D=1-10+0", "D=1-10+-1", "D=10-1", "D=10-1*2", "D=1-10*-2"}) {
    EXPECT_THAT(error_of(text), HasSubstr("never ends or is empty")) << text;
  }
}

TEST(AxisRequest, TenThousandValuesAreTheMostOfARange) {
  EXPECT_EQ(values_of("D=1-10000").size(), 10'000U);
  EXPECT_THAT(error_of("D=1-10001"), HasSubstr("'1-10001' has over 10,000 values"));
  // The bound is of one range, not of what stood before it.
  EXPECT_EQ(values_of("D=1-6000,10001-16000").size(), 12'000U);
}

TEST(AxisRequest, ARangeUpToTheLargestIntegerEnds) {
  EXPECT_THAT(values_of("D=4611686018427387904-9223372036854775807*2"), ElementsAre("4611686018427387904"));
  EXPECT_THAT(values_of("D=9223372036854775806-9223372036854775807"),
              ElementsAre("9223372036854775806", "9223372036854775807"));
}

TEST(Axis, AcceptsPositiveIntegersOrTheListedTexts) {
  EXPECT_TRUE(accepts(kSize, "7"));
  for (const char* value : {"0", "-1", "x", "1.5", "", "99999999999999999999"}) {
    EXPECT_FALSE(accepts(kSize, value)) << value;
  }
  EXPECT_TRUE(accepts(kDtype, "bf16"));
  EXPECT_FALSE(accepts(kDtype, "f32"));
  EXPECT_EQ(valid_values(kDtype), "one of int8, bf16");
  EXPECT_EQ(valid_values(kSize), "a positive integer");
}

TEST(Axis, SelectsItsOwnValuesWhenNobodyAsks) {
  const std::vector<AxisRequest> requests{parse_axis_request("other=1")};
  EXPECT_THAT(select_values(kSize, requests), ElementsAre("1024", "4096"));
}

TEST(Axis, SelectsWhatItAcceptsOnceInPlainForm) {
  const std::vector<AxisRequest> requests{parse_axis_request("D=0064,64,8,x"),
                                          parse_axis_request("dtype=f32")};
  EXPECT_THAT(select_values(kSize, requests), ElementsAre("64", "8"));
  EXPECT_THAT(select_values(kDtype, requests), ElementsAre());
}

TEST(Axis, SeveralRequestsOfOneAxisAddUp) {
  const std::vector<AxisRequest> requests{parse_axis_request("D=1"), parse_axis_request("D=2,1")};
  EXPECT_THAT(select_values(kSize, requests), ElementsAre("1", "2"));
}

}  // namespace
}  // namespace headroom
