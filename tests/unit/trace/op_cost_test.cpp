// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/cost/op_cost.h"

#include <gtest/gtest.h>

#include <string>

#include "headroom/trace/cost/device_peaks.h"

namespace headroom::trace {
namespace {

OpCall op_call(const char* name, const char* dims, const char* types, const char* values = "") {
  return {name, tensor_arguments(dims, types), text_list(values)};
}
std::optional<OpCost> cost(const char* name, const char* dims, const char* types, const char* values = "") {
  return op_cost(op_call(name, dims, types, values), nullptr);
}

void expect_cost(const std::optional<OpCost>& found, double flops, double bytes, MathType math,
                 bool is_product) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->flops, flops);
  EXPECT_EQ(found->bytes, bytes);
  EXPECT_EQ(found->math, math);
  EXPECT_EQ(found->is_product, is_product);
}

TEST(OpCost, ProductsOfMatrices) {
  // (3, 5) x (5, 7): 2 * 105 FLOPs; 15 + 35 read, 21 written
  expect_cost(cost("aten::mm", "[[3, 5], [5, 7]]", R"(["float", "float"])"), 210, 71 * 4, MathType::kF32,
              true);
  expect_cost(cost("aten::mm", "[[3, 5], [5, 7], [3, 7]]", R"(["c10::Half", "c10::Half", "c10::Half"])"), 210,
              71 * 2, MathType::kF16, true);
  expect_cost(cost("aten::addmm", "[[7], [3, 5], [5, 7], [], []]",
                   R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"])"),
              210, 78 * 2, MathType::kBf16, true);
  expect_cost(cost("aten::bmm", "[[2, 3, 5], [2, 5, 7]]", R"(["double", "double"])"), 420, 142 * 8,
              MathType::kF64, true);
  expect_cost(cost("aten::linear", "[[2, 3, 5], [7, 5], [7]]", R"(["float", "float", "float"])"), 420,
              (30 + 35 + 7 + 42) * 4, MathType::kF32, true);
  expect_cost(cost("aten::mv", "[[3, 5], [5]]", R"(["float", "float"])"), 30, 23 * 4, MathType::kF32, true);
  expect_cost(cost("aten::_int_mm", "[[3, 5], [5, 7]]", R"(["signed char", "signed char"])"), 210,
              50 + 21 * 4, MathType::kI8, true);
}

TEST(OpCost, ProductsThatDoNotFitAreNotGuessed) {
  EXPECT_FALSE(cost("aten::mm", "[[3, 5], [6, 7]]", R"(["float", "float"])"));
  EXPECT_FALSE(cost("aten::mm", "[[3, 5]]", R"(["float"])"));
  EXPECT_FALSE(cost("aten::mm", "[[3, 5], [5, 7]]", "[]"));
  EXPECT_FALSE(cost("aten::mm", "[[3, -5], [-5, 7]]", R"(["float", "float"])"));
  EXPECT_FALSE(cost("aten::bmm", "[[2, 3, 5], [4, 5, 7]]", R"(["float", "float"])"));
  EXPECT_FALSE(cost("vllm::moe_forward", "[[3, 5], [5, 7]]", R"(["float", "float"])"));
  EXPECT_FALSE(cost("aten::cat", "[[[3], [4]], []]", R"(["TensorList", "Scalar"])"));
}

TEST(OpCost, Convolutions) {
  // 2 x 3 x 8 x 8, 4 filters of 3 x 3, padding 1, stride 2: output 2 x 4 x 4 x 4 = 128
  const char* types = R"(["float", "float", "float"])";
  const char* dims = "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]";
  const double flops = 2 * 128 * 27, bytes = (384 + 108 + 4 + 128) * 4;
  expect_cost(cost("aten::convolution", dims, types,
                   R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])"),
              flops, bytes, MathType::kF32, true);
  expect_cost(cost("aten::miopen_convolution", dims, types,
                   R"(["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False"])"),
              flops, bytes, MathType::kF32, true);
  expect_cost(cost("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]",
                   R"(["float", "float"])",
                   R"(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])"),
              flops, bytes - 16, MathType::kF32, true);
  // Groups are in the weight: 4 filters of one channel each.
  expect_cost(cost("aten::cudnn_convolution", "[[2, 4, 8, 8], [4, 1, 3, 3], [], [], []]",
                   R"(["float", "float"])", R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "4"])"),
              2 * 512 * 9, (512 + 36 + 512) * 4, MathType::kF32, true);
  EXPECT_FALSE(cost("aten::convolution", dims, types));  // no strides in the trace
  EXPECT_FALSE(cost("aten::convolution", dims, types,
                    R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])"));
}

TEST(OpCost, GradientsOfConvolutions) {
  const char* dims = "[[2, 4, 4, 4], [2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []]";
  const char* types = R"(["float", "float", "float"])";
  const auto with_mask = [&](const char* mask) {
    static std::string values;
    values = R"(["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ")" +
             std::string(mask) + "\"]";
    return cost("aten::convolution_backward", dims, types, values.c_str());
  };
  const double each = 2 * 128 * 27;
  expect_cost(with_mask("[True, True, False]"), 2 * each, (128 + 2 * (384 + 108)) * 4, MathType::kF32, true);
  expect_cost(with_mask("[False, True, False]"), each, (128 + 384 + 108) * 4, MathType::kF32, true);
  EXPECT_FALSE(cost("aten::convolution_backward", dims, types));

  const OpCall parent =
      op_call("aten::cudnn_convolution_backward", "[[2, 3, 8, 8], [2, 4, 4, 4], [4, 3, 3, 3]]", types);
  for (const char* part :
       {"aten::cudnn_convolution_backward_input", "aten::cudnn_convolution_backward_weight"}) {
    expect_cost(op_cost(op_call(part, "[]", "[]"), &parent), each, (384 + 128 + 108) * 4, MathType::kF32,
                true);
    EXPECT_FALSE(op_cost(op_call(part, "[]", "[]"), nullptr));
  }
}

TEST(OpCost, Attention) {
  // batch 2, length 6, heads 4, size 8: 2 * 4 * 36 pairs * 2 * (8 + 8)
  const char* types = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])";
  const char* dims = "[[2, 6, 4, 8], [2, 6, 4, 8], [2, 6, 4, 8], [], [], [], [], [], []]";
  const double one = 384 * 2, statistics = 48 * 4;
  expect_cost(
      cost("aten::_flash_attention_forward", dims, types, R"(["", "", "", "", "", "6", "6", "0.", "False"])"),
      2 * 8 * 36 * 16, 4 * one + statistics, MathType::kBf16, true);
  expect_cost(
      cost("aten::_flash_attention_forward", dims, types, R"(["", "", "", "", "", "6", "6", "0.", "True"])"),
      2 * 8 * 21 * 16, 4 * one + statistics, MathType::kBf16, true);
  expect_cost(
      cost("aten::_scaled_dot_product_flash_attention", "[[2, 4, 6, 8], [2, 4, 6, 8], [2, 4, 6, 8], [], []]",
           types, R"(["", "", "", "0.", "False"])"),
      2 * 8 * 36 * 16, 4 * one + statistics, MathType::kBf16, true);
  EXPECT_FALSE(cost("aten::_flash_attention_forward", dims, types));  // masked or not?
  // Lengths that vary within the batch.
  EXPECT_FALSE(cost("aten::_flash_attention_forward",
                    "[[2, 6, 4, 8], [2, 6, 4, 8], [2, 6, 4, 8], [3], [3], [], [], [], []]",
                    R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "int", "int"])",
                    R"(["", "", "", "", "", "6", "6", "0.", "False"])"));
}

TEST(OpCost, ElementwiseBroadcastsAndPromotes) {
  expect_cost(cost("aten::add", "[[4, 5], [5], []]", R"(["float", "float", "Scalar"])"), 20,
              (20 + 5 + 20) * 4, MathType::kF32, false);
  // A half with a float gives a float; a number without dimensions changes nothing.
  expect_cost(cost("aten::mul", "[[4, 5], [4, 5]]", R"(["c10::Half", "float"])"), 20, 20 * (2 + 4 + 4),
              MathType::kF32, false);
  expect_cost(cost("aten::mul", "[[4, 5], []]", R"(["c10::BFloat16", "double"])"), 20, 20 * 4 + 8,
              MathType::kF32, false);
  expect_cost(cost("aten::mul", "[[4, 5], []]", R"(["long int", "double"])"), 20, 20 * (8 + 4) + 8,
              MathType::kF32, false);
  expect_cost(cost("aten::add", "[[4, 5], [4, 5], []]", R"(["c10::Half", "c10::BFloat16", "Scalar"])"), 20,
              20 * (2 + 2 + 4), MathType::kF32, false);
  // In place the result has the type of the first.
  expect_cost(cost("aten::add_", "[[4, 5], [4, 5], []]", R"(["c10::Half", "float", "Scalar"])"), 20,
              20 * (2 + 4 + 2), MathType::kF32, false);
  expect_cost(cost("aten::eq", "[[4, 5], []]", R"(["long int", "Scalar"])"), 20, 20 * 9, MathType::kF32,
              false);
  expect_cost(cost("aten::div", "[[4, 5], []]", R"(["long int", "Scalar"])"), 20, 20 * 12, MathType::kF32,
              false);
  expect_cost(cost("aten::where", "[[4, 5], [4, 5], []]", R"(["bool", "double", "double"])"), 20, 20 * 17 + 8,
              MathType::kF32, false);
  expect_cost(cost("aten::sigmoid", "[[6]]", R"(["double"])"), 6, 96, MathType::kF64, false);
  expect_cost(cost("aten::clamp_min", "[[6], [], [6]]", R"(["float", "Scalar", "float"])"), 6, 48,
              MathType::kF32, false);
  EXPECT_FALSE(cost("aten::add", "[[4, 5], [3], []]", R"(["float", "float", "Scalar"])"));
  EXPECT_FALSE(cost("aten::add", "[[4, 5], [4, 5], []]", R"(["float", "", "Scalar"])"));
}

TEST(OpCost, WhatMovesMemory) {
  expect_cost(cost("aten::copy_", "[[10], [10], []]", R"(["float", "c10::Half", "Scalar"])"), 0, 60,
              MathType::kF32, false);
  expect_cost(cost("aten::fill_", "[[10], []]", R"(["double", "Scalar"])"), 0, 80, MathType::kF32, false);
  expect_cost(cost("aten::embedding", "[[100, 8], [3, 2]]", R"(["float", "long int"])"), 0,
              6 * 8 + 2 * 6 * 8 * 4, MathType::kF32, false);
  expect_cost(cost("aten::index_select", "[[100, 8], [], [6]]", R"(["float", "Scalar", "long int"])",
                   R"(["", "0", ""])"),
              0, 6 * 8 + 2 * 6 * 8 * 4, MathType::kF32, false);
  EXPECT_FALSE(cost("aten::index_select", "[[100, 8], [], [6]]", R"(["float", "Scalar", "long int"])"));
}

TEST(OpCost, SoftmaxAndNormalisation) {
  expect_cost(cost("aten::_softmax", "[[4, 5], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                   R"(["", "-1", "False"])"),
              100, 80, MathType::kF32, false);
  expect_cost(cost("aten::_softmax", "[[4, 5], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                   R"(["", "-1", "True"])"),
              100, 120, MathType::kF32, false);
  EXPECT_FALSE(cost("aten::_softmax", "[[4, 5], [], []]", R"(["c10::Half", "Scalar", "Scalar"])"));
  expect_cost(cost("aten::_softmax_backward_data", "[[4, 5], [4, 5], [], []]",
                   R"(["float", "float", "Scalar", "Scalar"])", R"(["", "", "-1", "5"])"),
              80, 20 * (4 + 4 + 2), MathType::kF32, false);
  expect_cost(cost("aten::native_layer_norm", "[[4, 5], [], [5], [5], []]",
                   R"(["float", "ScalarList", "float", "float", "Scalar"])"),
              160, (40 + 10) * 4, MathType::kF32, false);
  expect_cost(cost("aten::native_layer_norm_backward", "[[4, 5], [4, 5], [], [4, 1], [4, 1], [5], [5], []]",
                   R"(["float", "float", "", "float", "float", "float", "float", ""])"),
              220, (60 + 8 + 10) * 4, MathType::kF32, false);
}

TEST(DevicePeaks, FindsTheModelInTheNameOfATrace) {
  const auto name_of = [](const char* name, double memory = 0) {
    const DevicePeaks* peaks = find_device_peaks(name, memory);
    return peaks == nullptr ? std::string() : std::string(peaks->name);
  };
  EXPECT_EQ(name_of("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(name_of("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(name_of("NVIDIA H200"), "H200");
  EXPECT_EQ(name_of("NVIDIA GH200 480GB"), "GH200");
  EXPECT_EQ(name_of("NVIDIA B200"), "B200");
  EXPECT_EQ(name_of("NVIDIA A100-PG509-200", 42e9), "A100 40 GB");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-80GB"), "A100 80 GB");
  EXPECT_EQ(name_of("NVIDIA A100 80GB PCIe", 85e9), "A100 80 GB PCIe");
  EXPECT_EQ(name_of("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(name_of("NVIDIA GeForce RTX 2080 Ti"), "RTX 2080 Ti");
  EXPECT_EQ(name_of("AMD Instinct MI300X"), "MI300X");
  EXPECT_EQ(name_of("AMD Instinct MI210"), "MI210");
  EXPECT_EQ(name_of("h100"), "H100 SXM");
  for (const char* other : {"", "AMD Radeon Graphics", "NVIDIA RTX A1000", "NVIDIA RTX A4000",
                            "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A100-SXM4-40GB MIG 3g.20gb"})
    EXPECT_EQ(name_of(other), "") << other;
}

TEST(DevicePeaks, ProductsHaveTheMatrixUnitsAndAllElseTheVectorUnits) {
  const DevicePeaks& h100 = *find_device_peaks("H100", 0);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kBf16, true), 989.4e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kBf16, false), 67e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kF64, true), 67e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kF64, false), 34e12);
  EXPECT_DOUBLE_EQ(h100.bytes_per_second, 3350e9);
}

}  // namespace
}  // namespace headroom::trace
