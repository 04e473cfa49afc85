// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/matrix_operands.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <stdexcept>

namespace headroom::cuda {
namespace {

/// Element `index` as CUDA's own types convert it.
double decoded(MatrixType type, const MatrixOperand& operand, std::size_t index) {
  std::uint16_t half = 0;
  std::uint8_t byte = 0;
  double wide = 0;
  float word = 0;
  switch (type) {
    case MatrixType::kF64:
      std::memcpy(&wide, operand.bytes.data() + 8 * index, 8);
      return wide;
    case MatrixType::kTf32:
      std::memcpy(&word, operand.bytes.data() + 4 * index, 4);
      return word;
    case MatrixType::kF16:
      std::memcpy(&half, operand.bytes.data() + 2 * index, 2);
      return __half2float(__half(__half_raw{half}));
    case MatrixType::kBf16:
      std::memcpy(&half, operand.bytes.data() + 2 * index, 2);
      return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{half}));
    case MatrixType::kFp8: {
      std::memcpy(&byte, operand.bytes.data() + index, 1);
      __nv_fp8_e4m3 value;
      value.__x = byte;
      return static_cast<float>(value);
    }
    case MatrixType::kInt8:
      std::memcpy(&byte, operand.bytes.data() + index, 1);
      return static_cast<std::int8_t>(byte);
  }
  return 0;
}

TEST(MatrixOperand, HoldsItsValuesInTheTypesOwnBits) {
  for (const MatrixType type : {MatrixType::kF64, MatrixType::kTf32, MatrixType::kF16, MatrixType::kBf16,
                                MatrixType::kFp8, MatrixType::kInt8}) {
    const MatrixOperand operand = matrix_operand(type, 64, 7);
    ASSERT_EQ(operand.bytes.size(), 64U * kRowBytes);
    ASSERT_EQ(operand.values.size(), 64U * elements_per_row(type));
    std::set<double> different;
    for (std::size_t i = 0; i < operand.values.size(); ++i) {
      ASSERT_EQ(decoded(type, operand, i), operand.values[i]) << static_cast<int>(type) << " " << i;
      different.insert(operand.values[i]);
    }
    EXPECT_GE(different.size(), 31U);
  }
}

TEST(MatrixOperand, FollowsTheSeed) {
  EXPECT_EQ(matrix_operand(MatrixType::kBf16, 8, 1).bytes, matrix_operand(MatrixType::kBf16, 8, 1).bytes);
  EXPECT_NE(matrix_operand(MatrixType::kBf16, 8, 1).bytes, matrix_operand(MatrixType::kBf16, 8, 2).bytes);
}

TEST(MatrixType, IsNamedAsAxesNameIt) {
  EXPECT_EQ(matrix_type("fp8"), MatrixType::kFp8);
  EXPECT_EQ(matrix_type("tf32"), MatrixType::kTf32);
  EXPECT_THROW(matrix_type("f32"), std::logic_error);
}

}  // namespace
}  // namespace headroom::cuda
