// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "../error_message.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/tensor_spec.h"

namespace headroom {
namespace {

using namespace testing;

void own_experiment(State&) {}
HEADROOM_EXPERIMENT(own_experiment).summary("for the macro").axis("D", {1, 2}).axis("dtype", {"f32", "bf16"});

TEST(Registry, KeepsTheOrderAndTheReferences) {
  Registry made;
  Experiment& first = made.add("first", own_experiment);
  for (int i = 0; i < 100; ++i) made.add("other" + std::to_string(i), own_experiment);
  first.summary("changed later");
  EXPECT_EQ(made.find("first")->summary(), "changed later");
  EXPECT_EQ(made.all().size(), 101U);
  EXPECT_EQ(made.all()[1].name(), "other0");
  EXPECT_EQ(made.find("missing"), nullptr);
}

TEST(Registry, ANameIsTakenOnce) {
  Registry made;
  made.add("dot", own_experiment);
  EXPECT_THROW(made.add("dot", own_experiment), std::logic_error);
  EXPECT_EQ(made.all().size(), 1U);
}

TEST(Registry, TheMacroRegistersUnderTheFunctionsName) {
  const Experiment* found = registry().find("own_experiment");
  ASSERT_NE(found, nullptr);
  const auto* const function = found->function().target<void (*)(State&)>();
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(*function, &own_experiment);
  ASSERT_EQ(found->axes().size(), 2U);
  EXPECT_EQ(found->axes()[0].kind, Axis::Kind::kInteger);
  EXPECT_THAT(found->axes()[0].values, ElementsAre("1", "2"));
  EXPECT_EQ(found->axes()[1].kind, Axis::Kind::kText);
  EXPECT_THAT(found->axes()[1].values, ElementsAre("f32", "bf16"));
  EXPECT_THAT(found->backends(), ElementsAre("native"));
  EXPECT_EQ(found->device(), "cpu");
  EXPECT_FALSE(found->is_limit());
}

TEST(SharedObjects, AreMadeOnceWhileSomebodyHoldsThem) {
  SharedObjects shared;
  int made = 0;
  const auto make = [&] { return std::make_shared<int>(++made); };
  auto first = shared.get<int>("pool", make);
  auto second = shared.get<int>("pool", make);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*shared.get<int>("other", make), 2);
  first.reset();
  EXPECT_EQ(shared.get<int>("pool", make), second);
  second.reset();
  EXPECT_EQ(*shared.get<int>("pool", make), 3);
}

TEST(SharedObjects, OfDifferentTypesDoNotMeet) {
  SharedObjects shared;
  const auto number = shared.get<int>("x", [] { return std::make_shared<int>(1); });
  const auto text = shared.get<std::string>("x", [] { return std::make_shared<std::string>("one"); });
  EXPECT_EQ(*number, 1);
  EXPECT_EQ(*text, "one");
}

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
  const Axis whole{"n", Axis::Kind::kWhole, {"0", "64"}}, real{"x", Axis::Kind::kReal, {"0.5"}};
  for (const char* value : {"0", "-7", "9223372036854775807"}) EXPECT_TRUE(accepts(whole, value)) << value;
  for (const char* value : {"", "0.5", "9223372036854775808", "x"})
    EXPECT_FALSE(accepts(whole, value)) << value;
  for (const char* value : {"0", "-7.5", "1e-3"}) EXPECT_TRUE(accepts(real, value)) << value;
  for (const char* value : {"", "nan", "inf", "x"}) EXPECT_FALSE(accepts(real, value)) << value;
  const std::vector<AxisRequest> written{{"n", {"007", "7"}}, {"x", {"1.0", "1", "1e-3"}}};
  EXPECT_THAT(select_values(whole, written), ElementsAre("7"));
  EXPECT_THAT(select_values(real, written), ElementsAre("1", "0.001"));
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

std::string refusal_of(const std::string& text) {
  try {
    parse_tensor_spec(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TensorSpec, HasADtypeAndSizes) {
  const TensorSpec image = parse_tensor_spec("f32[1,3,224,224]");
  EXPECT_EQ(image.dtype, "f32");
  EXPECT_THAT(image.sizes, ElementsAre(1, 3, 224, 224));
  EXPECT_EQ(image.elements(), 150528);
  EXPECT_EQ(image.bytes(), 602112);
  const TensorSpec number = parse_tensor_spec("bf16[]");
  EXPECT_THAT(number.sizes, IsEmpty());
  EXPECT_EQ(number.bytes(), 2);
}

TEST(TensorSpec, IntegersMayHaveARange) {
  const TensorSpec tokens = parse_tensor_spec("i64[1,128]:-5..31999");
  EXPECT_EQ(tokens.low, -5);
  EXPECT_EQ(tokens.high, 31999);
  EXPECT_EQ(to_string(tokens), "i64[1,128]:-5..31999");
  EXPECT_EQ(parse_tensor_spec("i64[2]").high, 1);
}

TEST(TensorSpec, SpellingsOfOneDtypeAreOne) {
  for (const char* text : {"float32[2]", "float[2]", "f32[02]"}) {
    EXPECT_EQ(to_string(parse_tensor_spec(text)), "f32[2]") << text;
  }
  EXPECT_EQ(to_string(parse_tensor_spec("i8[2]")), "int8[2]");
}

TEST(TensorSpec, WhatIsWrongIsToldWithItsColumn) {
  EXPECT_THAT(refusal_of(""), AllOf(HasSubstr("column 1"), HasSubstr("bf16")));
  EXPECT_THAT(refusal_of("f31[2]"), AllOf(HasSubstr("'f31[2]'"), HasSubstr("column 1"), HasSubstr("f32")));
  EXPECT_THAT(refusal_of("f32"), AllOf(HasSubstr("column 4"), HasSubstr("'['")));
  EXPECT_THAT(refusal_of("f32 [2]"), HasSubstr("column 4"));
  EXPECT_THAT(refusal_of("f32[2,,3]"), AllOf(HasSubstr("column 7"), HasSubstr("a size")));
  EXPECT_THAT(refusal_of("f32[2,0]"), AllOf(HasSubstr("column 7"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal_of("f32[2,x]"), HasSubstr("column 7"));
  EXPECT_THAT(refusal_of("f32[2"), AllOf(HasSubstr("column 6"), HasSubstr("']'")));
  EXPECT_THAT(refusal_of("f32[2]z"), HasSubstr("column 7"));
  EXPECT_THAT(refusal_of("f32[99999999999999999999]"), HasSubstr("column 5"));
  EXPECT_THAT(refusal_of("f32[1048576,1048577]"), AllOf(HasSubstr("column 13"), HasSubstr("2^40")));
}

TEST(TensorSpec, WhatIsWrongWithARangeIsToldWithItsColumn) {
  EXPECT_THAT(refusal_of("f32[2]:0..1"), AllOf(HasSubstr("column 7"), HasSubstr("only integers")));
  EXPECT_THAT(refusal_of("u8[2]:0..256"), AllOf(HasSubstr("column 10"), HasSubstr("from 0 to 255")));
  EXPECT_THAT(refusal_of("i64[2]:5..4"), AllOf(HasSubstr("column 11"), HasSubstr("at least 5")));
  EXPECT_THAT(refusal_of("i64[2]:5-7"), AllOf(HasSubstr("column 9"), HasSubstr("'..'")));
  EXPECT_THAT(refusal_of("i64[2]:1..2 "), AllOf(HasSubstr("column 12"), HasSubstr("the end")));
}

}  // namespace
}  // namespace headroom
