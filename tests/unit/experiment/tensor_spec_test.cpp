// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/tensor_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
