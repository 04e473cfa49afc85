// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/tensor_arguments.h"

#include <gtest/gtest.h>

namespace headroom::trace {
namespace {

TEST(TensorArguments, ReadsTensorsListsAndScalars) {
  const std::vector<TensorArgument> arguments = tensor_arguments(
      "[[8,  16], [], [[2], [3, 4], []], []]", R"(["float", "Scalar", "TensorList", "c10::BFloat16"])");
  ASSERT_EQ(arguments.size(), 4U);
  EXPECT_EQ(arguments[0].shape(), (Shape{8, 16}));
  EXPECT_TRUE(arguments[0].is_tensor());
  EXPECT_EQ(elements_of(arguments[0].shape()), 128);
  EXPECT_FALSE(arguments[1].is_tensor());
  EXPECT_TRUE(arguments[2].is_list);
  EXPECT_EQ(arguments[2].shapes, (std::vector<Shape>{{2}, {3, 4}, {}}));
  EXPECT_TRUE(arguments[3].is_tensor());  // without dimensions: one element
  EXPECT_EQ(elements_of(arguments[3].shape()), 1);
}

TEST(TensorArguments, TextsThatAreNoneGiveNothing) {
  for (const char* dims :
       {"", "[", "[[1,]", "[[1]] x", "{}", "[1]", "[[\"a\"]]", "null", "[[99999999999999999999]]"})
    EXPECT_TRUE(tensor_arguments(dims, "[]").empty()) << dims;
  EXPECT_TRUE(tensor_arguments("[]", "[]").empty());
  EXPECT_EQ(tensor_arguments("[[1], [2]]", "[\"float\"").size(), 2U);
  EXPECT_FALSE(tensor_arguments("[[1], [2]]", "[\"float\"").front().is_tensor());
}

TEST(TensorArguments, TypesOfOperatorsAndOfCollectives) {
  EXPECT_EQ(element_bytes("c10::Half"), 2);
  EXPECT_EQ(element_bytes("Half"), 2);
  EXPECT_EQ(element_bytes("c10::Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("TensorList"), 0);
  EXPECT_EQ(element_bytes(""), 0);
}

TEST(TensorArguments, ListsOfTexts) {
  EXPECT_EQ(text_list(R"(["a", "b\"c", ""])"), (std::vector<std::string_view>{"a", R"(b\"c)", ""}));
  EXPECT_TRUE(text_list(R"(["a", 1])").empty());
  EXPECT_TRUE(text_list(R"(["a)").empty());
}

}  // namespace
}  // namespace headroom::trace
