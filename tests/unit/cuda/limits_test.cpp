// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "headroom_cuda/limits/bandwidth_kernels.h"
#include "headroom_cuda/limits/peak_kernels.h"

namespace headroom::cuda {
namespace {

std::vector<int> visits(const Walk& walk, std::size_t memory) {
  std::vector<int> counts(memory, 0);
  for (unsigned block = 0; block < walk.blocks; ++block) {
    const unsigned rank = block % walk.team;
    const std::size_t step = walk.chunk > 0 ? walk.threads : std::size_t{walk.team} * walk.threads;
    const std::size_t end = walk.chunk > 0 ? std::min(walk.vectors, (rank + 1) * walk.chunk) : walk.vectors;
    for (unsigned pass = block / walk.team; pass < walk.passes; pass += walk.blocks / walk.team) {
      for (unsigned thread = 0; thread < walk.threads; ++thread) {
        std::size_t at = (walk.chunk > 0 ? rank * walk.chunk : std::size_t{rank} * walk.threads) + thread;
        for (; at < end; at += step) ++counts.at(pass * walk.stride + at);
      }
    }
  }
  return counts;
}

TEST(Walk, EveryPatternReachesEachVectorOnceInEachPass) {
  for (const std::string pattern : {"linear", "blocked", "tiles", "copy_tiles"}) {
    for (const std::size_t vectors : {1U, 255U, 256U, 2048U, 2049U, 10'000U, 70'001U}) {
      for (const std::size_t passes : {1U, 3U, 8U}) {
        for (const unsigned resident : {1U, 5U, 32U}) {
          const Walk cold = walk_of(pattern, vectors, vectors, passes, resident);
          EXPECT_EQ(visits(cold, vectors * passes), std::vector<int>(vectors * passes, 1))
              << pattern << " " << vectors << " x " << passes << " on " << resident;
          const Walk hot = walk_of(pattern, vectors, 0, passes, resident);
          EXPECT_EQ(visits(hot, vectors), std::vector<int>(vectors, static_cast<int>(passes)));
        }
      }
    }
  }
}

TEST(Walk, SmallWorkingSetsAreSharedByTeamsSoThatAllBlocksHaveWork) {
  const Walk walk = walk_of("linear", 4096, 0, 1000, 528);
  EXPECT_EQ(walk.team, 2U) << "a vector for each load that the threads have in flight";
  EXPECT_EQ(walk.blocks, 528U);
  EXPECT_EQ(walk_of("linear", 4096, 0, 3, 528).blocks, 6U) << "no more teams than passes";
  EXPECT_EQ(walk_of("linear", 1 << 20, 0, 1, 528).blocks, 512U);
  EXPECT_EQ(walk_of("blocked", 1 << 24, 0, 1, 528).blocks, 528U);
  EXPECT_EQ(walk_of("tiles", 1 << 20, 1 << 20, 4, 528).blocks, 2048U);
}

TEST(SumOfWords, IsTheSumOfEachWord) {
  for (const std::size_t first : {0U, 1U, 1000U}) {
    std::uint32_t sum = 0;
    for (std::size_t count = 0; count < 3000; ++count) {
      ASSERT_EQ(sum_of_words(first, count), sum) << first << " " << count;
      sum += word_at(first + count);
    }
  }
  const std::size_t many = (std::size_t{1} << 33) + 7;
  EXPECT_EQ(sum_of_words(0, many) + sum_of_words(many, many), sum_of_words(0, 2 * many));
}

double decoded(MatrixType type, const MatrixOperand& operand, std::size_t index) {
  const auto bits = [&]<typename T>(T value) {
    std::memcpy(&value, operand.bytes.data() + sizeof value * index, sizeof value);
    return value;
  };
  switch (type) {
    case MatrixType::kF64:
      return bits(0.0);
    case MatrixType::kTf32:
      return bits(0.0F);
    case MatrixType::kF16:
      return __half2float(__half(__half_raw{bits(std::uint16_t{0})}));
    case MatrixType::kBf16:
      return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits(std::uint16_t{0})}));
    case MatrixType::kFp8: {
      __nv_fp8_e4m3 value;
      value.__x = bits(std::uint8_t{0});
      return static_cast<float>(value);
    }
    case MatrixType::kInt8:
      return bits(std::int8_t{0});
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
