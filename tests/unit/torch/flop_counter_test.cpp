// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/flop_counter.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom_torch/calls/flop_formulas.h"

namespace headroom::torch_runner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

// The figures are those of FlopCounterMode of PyTorch 2.15 for the same calls.
TEST(FlopCounter, ProductsOfMatrices) {
  const at::Tensor a = at::ones({4, 5}), b = at::ones({5, 6}), c = at::ones({4, 6});
  EXPECT_EQ(count_flops([&] { at::mm(a, b); }).flops, 240);
  EXPECT_EQ(count_flops([&] { at::addmm(c, a, b); }).flops, 240);
  EXPECT_EQ(count_flops([&] { at::linear(a, b.t()); }).flops, 240);
  const at::Tensor d = at::ones({3, 4, 5}), e = at::ones({3, 5, 6});
  EXPECT_EQ(count_flops([&] { at::bmm(d, e); }).flops, 720);
  EXPECT_EQ(count_flops([&] { at::baddbmm(at::ones({3, 4, 6}), d, e); }).flops, 720);
  EXPECT_EQ(count_flops([&] { at::matmul(d, b); }).flops, 720);
}

TEST(FlopCounter, ProductsWithVectorsWhichPyTorchLeavesOut) {
  const at::Tensor a = at::ones({4, 5}), x = at::ones({5});
  EXPECT_EQ(count_flops([&] { at::mv(a, x); }).flops, 40);
  EXPECT_EQ(count_flops([&] { at::addmv(at::ones({4}), a, x); }).flops, 40);
  EXPECT_EQ(count_flops([&] { at::dot(x, x); }).flops, 10);
}

double flops_of_conv2d(const at::Tensor& image, const at::Tensor& kernels, std::int64_t stride,
                       std::int64_t padding, std::int64_t dilation, std::int64_t groups) {
  return count_flops([&] {
           at::conv2d(image, kernels, {}, at::IntArrayRef(stride), at::IntArrayRef(padding),
                      at::IntArrayRef(dilation), groups);
         })
      .flops;
}

TEST(FlopCounter, Convolutions) {
  const at::Tensor image = at::ones({2, 4, 8, 8}), kernels = at::ones({6, 4, 3, 3});
  EXPECT_EQ(flops_of_conv2d(image, kernels, 1, 0, 1, 1), 31104);
  EXPECT_EQ(flops_of_conv2d(image, kernels, 2, 1, 1, 1), 13824);
  EXPECT_EQ(flops_of_conv2d(image, kernels, 1, 0, 2, 1), 13824);
  EXPECT_EQ(flops_of_conv2d(image, at::ones({6, 2, 3, 3}), 1, 0, 1, 2), 15552);
  const at::Tensor transposed = at::ones({4, 6, 3, 3});
  EXPECT_EQ(count_flops([&] { at::conv_transpose2d(image, transposed); }).flops, 55296);
  EXPECT_EQ(count_flops([&] { at::conv1d(at::ones({1, 2, 10}), at::ones({3, 2, 4})); }).flops, 336);
}

TEST(FlopCounter, GradientsOfConvolutions) {
  const auto flops = [](at::Tensor image, at::Tensor kernels, bool of_image, const auto& convolution) {
    image.requires_grad_(of_image);
    kernels.requires_grad_();
    return count_flops([&] { convolution(image, kernels).sum().backward(); }).flops;
  };
  const auto plain = [](const auto& image, const auto& kernels) { return at::conv2d(image, kernels); };
  const auto in_groups = [](const auto& image, const auto& kernels) {
    return at::conv2d(image, kernels, {}, at::IntArrayRef(1), at::IntArrayRef(0), at::IntArrayRef(1), 2);
  };
  const auto transposed = [](const auto& image, const auto& kernels) {
    return at::conv_transpose2d(image, kernels);
  };
  const at::Tensor image = at::ones({2, 4, 8, 8});
  EXPECT_EQ(flops(image, at::ones({6, 4, 3, 3}), true, plain), 93312);
  EXPECT_EQ(flops(image, at::ones({6, 4, 3, 3}), false, plain), 62208) << "of the weights alone";
  EXPECT_EQ(flops(image, at::ones({6, 2, 3, 3}), true, in_groups), 46656)
      << "where PyTorch counts the gradient of the weights as if there were one group";
  EXPECT_EQ(flops(image, at::ones({4, 6, 3, 3}), true, transposed), 165888);
}

std::optional<double> flops_of(std::string_view name, const std::vector<c10::IValue>& arguments) {
  return op_flops(name, c10::ArrayRef<const c10::IValue>(arguments.data(), arguments.size()));
}

TEST(FlopCounter, AttentionIsTwoProducts) {
  EXPECT_EQ(flops_of("aten::_scaled_dot_product_flash_attention_for_cpu",
                     {at::ones({2, 3, 7, 4}), at::ones({2, 3, 9, 4}), at::ones({2, 3, 9, 4})}),
            6048);
}

TEST(FlopCounter, APartOfWhatIsCountedIsNotCountedAgain) {
  const FlopCount count = count_flops([] { at::conv2d(at::ones({1, 1, 4, 4}), at::ones({1, 1, 3, 3})); });
  EXPECT_THAT(count.counted, ElementsAre(Pair("aten::convolution", 1)));
  EXPECT_THAT(count.not_counted, testing::Not(testing::Contains(Pair(HasSubstr("conv"), testing::_))));
}

TEST(FlopCounter, WhatComputesWithoutAFormulaIsNamed) {
  const at::Tensor a = at::ones({4, 4});
  const FlopCount count = count_flops([&] {
    const at::Tensor b = at::mm(a, a).neg();
    at::exp(at::exp(b)).view({2, 8}).t();
    b.add(1);  // converts the 1, which computes nothing
    at::empty({3});
    at::ones({3}).clone();
  });
  EXPECT_EQ(count.flops, 128);
  EXPECT_THAT(count.dtypes, ElementsAre("f32"));
  EXPECT_THAT(count.not_counted,
              ElementsAre(Pair("aten::add", 1), Pair("aten::exp", 2), Pair("aten::neg", 1)));
}

TEST(FlopCounter, HearsNothingBeforeAndAfter) {
  const at::Tensor a = at::ones({4, 4});
  at::mm(a, a);
  const FlopCount none = count_flops([] {});
  at::mm(a, a);
  EXPECT_EQ(none.flops, 0);
  EXPECT_THAT(none.counted, IsEmpty());
  EXPECT_THROW(count_flops([] { throw 3; }), int);
  EXPECT_EQ(count_flops([&] { at::mm(a, a); }).flops, 128) << "after one that threw";
}

TEST(FlopCounter, ArgumentsThatAreNotAsTheSchemaSaysHaveNoCount) {
  EXPECT_FALSE(flops_of("aten::mm", {}));
  const std::vector<c10::IValue> odd{at::ones({3}), 3};
  EXPECT_FALSE(flops_of("aten::mm", odd));
  EXPECT_FALSE(flops_of("aten::convolution", odd));
  EXPECT_FALSE(flops_of("aten::relu", odd));
}

TEST(CallsText, NamesTheFirstEightAndCountsTheRest) {
  std::map<std::string, std::int64_t> calls{{"b", 3}, {"a", 1}};
  EXPECT_EQ(calls_text(calls), "a, b x3");
  for (char name = 'c'; name <= 'k'; ++name) calls[std::string(1, name)] = 1;
  EXPECT_THAT(calls_text(calls), AllOf(StartsWith("a, b x3, c"), HasSubstr("h and 3 more")));
}

}  // namespace
}  // namespace headroom::torch_runner
