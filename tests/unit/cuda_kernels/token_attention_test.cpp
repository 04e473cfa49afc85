// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exact_memory.h"
#include "headroom_cuda/kernels/token_kernels.cuh"

namespace headroom::cuda {
namespace {

using emulated::Order;

/// Attention of a token behind many, where nothing is kept from its position on.
template <int kPerLane>
void expect_attention_is_right(std::uint32_t position, std::uint32_t splits, Order order) {
  constexpr std::uint32_t kHeads = 4, kKvHeads = 2, kPositions = 420, kWidth = 32 * kPerLane;
  std::uint64_t state = position + 1;
  const auto random = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(state >> 40U) * 0x1p-23F - 1;
  };
  std::vector<float> qkv((kHeads + 2 * kKvHeads) * kWidth), cosines(kPositions * kWidth / 2),
      sines(cosines.size());
  for (float& value : qkv) value = random();
  for (std::size_t i = 0; i < cosines.size(); ++i) {
    const float angle = 3 * random();
    cosines[i] = std::cos(angle);
    sines[i] = std::sin(angle);
  }
  const ExactMemory of_qkv(qkv), of_cosines(cosines), of_sines(sines),
      keys(std::size_t{2} * kKvHeads * kPositions * kWidth),
      values(std::size_t{2} * kKvHeads * kPositions * kWidth), at(std::vector<std::uint32_t>{position}),
      parts(std::size_t{4} * kHeads * splits * (kWidth + 2)),
      finished(std::vector<std::uint32_t>(std::size_t{kHeads})), y(std::size_t{2} * kHeads * kWidth);
  const auto kept = [&](const ExactMemory& of, std::size_t head, std::size_t where) {
    return of.as<std::uint16_t>() + (head * kPositions + where) * kWidth;
  };
  for (std::size_t head = 0; head < kKvHeads; ++head) {
    for (std::size_t where = 0; where < position; ++where) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        kept(keys, head, where)[i] = bf16_bits(random());
        kept(values, head, where)[i] = bf16_bits(random());
      }
    }
  }
  const AttentionProblem problem{of_qkv.as<float>(),
                                 of_cosines.as<float>(),
                                 of_sines.as<float>(),
                                 keys.as<std::uint16_t>(),
                                 values.as<std::uint16_t>(),
                                 at.as<std::uint32_t>(),
                                 parts.as<float>(),
                                 finished.as<std::uint32_t>(),
                                 y.as<std::uint16_t>(),
                                 kHeads,
                                 kKvHeads,
                                 kPositions,
                                 splits};
  // The position and the token's own come from launches before this one.
  const auto end_of_position = at.written_later(), end_of_qkv = of_qkv.written_later();
  const auto end = [&] {
    end_of_position();
    end_of_qkv();
  };
  emulated::launch_early(kHeads * splits, kAttentionThreads, order, end,
                         [&] { attention_kernel<kPerLane>(problem); });

  const auto turned = [&](const float* from, std::size_t i) {
    const std::size_t pair = position * kWidth / 2 + i / 2;
    const double own = from[i], other = from[i ^ 1U];
    return own * cosines[pair] + (i % 2 == 0 ? -other : other) * sines[pair];
  };
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t kv_head = head / (kHeads / kKvHeads);
    const float* const own_key = qkv.data() + (kHeads + kv_head) * kWidth;
    const float* const own_value = own_key + kKvHeads * kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      EXPECT_NEAR(bf16_value(kept(keys, kv_head, position)[i]), turned(own_key, i), 0.01);
      EXPECT_EQ(kept(values, kv_head, position)[i], bf16_bits(own_value[i]));
    }
    std::vector<double> exact(kWidth);
    double sum = 0;
    for (std::size_t where = 0; where <= position; ++where) {
      double score = 0;
      for (std::size_t i = 0; i < kWidth; ++i)
        score += turned(qkv.data() + head * kWidth, i) * bf16_value(kept(keys, kv_head, where)[i]);
      const double weight = std::exp(score / std::sqrt(kWidth));
      sum += weight;
      for (std::size_t i = 0; i < kWidth; ++i)
        exact[i] += weight * bf16_value(kept(values, kv_head, where)[i]);
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      EXPECT_NEAR(bf16_value(y.as<std::uint16_t>()[head * kWidth + i]), exact[i] / sum,
                  0.004 * std::abs(exact[i] / sum) + 1e-5)
          << position << " in " << splits << ", head " << head << ", " << i;
    }
    EXPECT_EQ(finished.as<std::uint32_t>()[head], 0U);
  }
}

TEST(TokenAttention, OfOneBlockIsRight) {
  for (const std::uint32_t position : {0U, 15U, 127U, 128U, 419U})
    expect_attention_is_right<4>(position, 1, Order::kForward);
  expect_attention_is_right<2>(300, 1, Order::kBackward);
  expect_attention_is_right<8>(300, 1, Order::kBackward);
}

TEST(TokenAttention, OfSeveralBlocksIsRight) {
  for (const std::uint32_t position : {0U, 16U, 200U, 419U})
    expect_attention_is_right<4>(position, 3, Order::kBackward);
  expect_attention_is_right<2>(410, 2, Order::kForward);
  expect_attention_is_right<8>(100, 16, Order::kForward);
}

}  // namespace
}  // namespace headroom::cuda
