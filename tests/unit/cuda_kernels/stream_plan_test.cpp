// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/stream_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace headroom::cuda {
namespace {

TEST(StreamPlan, EachIsNamedByWhatItDoes) {
  for (const bool early : {false, true}) {
    std::set<std::string> names;
    for (const StreamPlan& plan : stream_plans(132, early)) {
      EXPECT_TRUE(names.insert(plan.name()).second) << plan.name();
      EXPECT_EQ(plan.start == Start::kEarly, early);
      EXPECT_LE(plan.threads, kStreamedThreads);
      EXPECT_EQ(plan.threads % (32 * plan.teams), 0U);
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(StreamPlan, ModelsOfTheBenchmarkFitMultiprocessorsOfAmpereAndHopper) {
  constexpr std::size_t kAmpere = 163 << 10, kHopper = 227 << 10;
  const auto deepest = [](std::size_t shared, unsigned processors, std::size_t rows, std::size_t columns) {
    unsigned depth = 0;
    for (const StreamPlan& plan : stream_plans(processors, false)) {
      if (plan.shared_bytes(rows, columns) <= shared) depth = std::max(depth, plan.depth);
    }
    return depth;
  };
  // The logits, Llama's W2, Mixtral's W2.
  EXPECT_EQ(deepest(kHopper, 132, 32000, 4096), kDeepStream);
  EXPECT_EQ(deepest(kHopper, 132, 4096, 11008), kDeepStream);
  EXPECT_EQ(deepest(kHopper, 132, 4096, 14336), kDeepStream);
  EXPECT_GE(deepest(kAmpere, 108, 32000, 4096), kShallowStream);
  EXPECT_GE(deepest(kAmpere, 108, 4096, 14336), kShallowStream);
}

TEST(StreamPlan, BytesAreThoseOfTheRingOfXAndOfSums) {
  StreamPlan plan;
  plan.threads = 256;
  plan.teams = 2;
  plan.depth = 5;
  plan.processors = 10;
  // 1000 rows are 125 groups, of which a block has up to 13; 4 warps of a team leave a sum each.
  EXPECT_EQ(plan.shared_bytes(1000, 512), 5U * 32 * 256 + 2 * 512 + 13 * 8 * 5 * 4);
}

}  // namespace
}  // namespace headroom::cuda
