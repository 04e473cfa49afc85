// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/collectives/collective_data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"
#include "headroom_torch/collectives/collective_pattern.h"

namespace headroom::torch_runner {
namespace {

const char* const kDtypes[] = {"f32", "f64", "f16", "i32", "i64"};

TEST(CollectivePattern, TellsRanksAndPlacesApartAndAddsUp) {
  const CollectivePattern pattern(5, 3);
  for (std::int64_t place = 0; place < 100; ++place) {
    int sum = 0;
    for (int rank = 0; rank < 5; ++rank) sum += pattern.value(rank, place);
    EXPECT_EQ(pattern.sum(place), sum);
    EXPECT_NE(pattern.value(0, place), pattern.value(1, place));
    EXPECT_NE(pattern.value(0, place), pattern.value(0, place + 1));
  }
}

TEST(CollectiveData, WhatWasFilledIsRightInEveryType) {
  const CollectivePattern pattern(2, 1);
  const auto expected = [&](std::int64_t place) { return pattern.sum(place); };
  for (const char* dtype : kDtypes) {
    at::Tensor data = at::zeros({257}, at::TensorOptions().dtype(collective_scalar_type(dtype)));
    fill_with(data, expected);
    EXPECT_EQ(what_is_wrong(data, expected), "") << dtype;
    data[12] = expected(12) + 1;
    EXPECT_EQ(what_is_wrong(data, expected).substr(0, 20), "element 12 of 257 is") << dtype;
    EXPECT_NE(what_is_wrong(data, expected).find("(1 is wrong)"), std::string::npos) << dtype;
    poison(data);
    EXPECT_NE(what_is_wrong(data, expected).find("(257 are wrong)"), std::string::npos) << dtype;
  }
}

TEST(CollectiveData, OtherTypesAreRefused) {
  EXPECT_THROW(collective_scalar_type("bf16"), Error);
  at::Tensor bytes = at::zeros({4}, at::TensorOptions().dtype(at::kByte));
  EXPECT_THROW(poison(bytes), Error);
}

}  // namespace
}  // namespace headroom::torch_runner
