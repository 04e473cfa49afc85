// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headroom::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The copies that a plan launches on, in order.
std::vector<std::size_t> copies_of(const std::vector<GraphRuns>& plan, std::size_t copies) {
  std::vector<std::size_t> order;
  for (const GraphRuns& part : plan) {
    for (std::uint64_t run = 0; run < part.runs; ++run) {
      for (std::size_t i = 0; i < part.shape.launches; ++i)
        order.push_back((part.shape.first_copy + i) % copies);
    }
  }
  return order;
}

std::vector<std::size_t> in_turn(std::uint64_t iterations, std::size_t first, std::size_t copies) {
  std::vector<std::size_t> order;
  for (std::uint64_t i = 0; i < iterations; ++i) order.push_back((first + i) % copies);
  return order;
}

TEST(SamplePlan, RepeatsOneGraphOfWholeTurns) {
  // 3 copies, at most 8 launches: two turns are one graph.
  EXPECT_THAT(plan_sample(20, 0, 3, 8), ElementsAre(GraphRuns{{0, 6}, 3}, GraphRuns{{0, 2}, 1}));
  EXPECT_THAT(plan_sample(1000, 0, 1, 256), ElementsAre(GraphRuns{{0, 256}, 3}, GraphRuns{{0, 232}, 1}));
}

TEST(SamplePlan, GoesOnWhereTheLastSampleEnded) {
  EXPECT_THAT(plan_sample(15, 2, 3, 8),
              ElementsAre(GraphRuns{{2, 4}, 1}, GraphRuns{{0, 6}, 1}, GraphRuns{{0, 5}, 1}));
  EXPECT_EQ(copy_after(2, 15, 3), 2U);
  EXPECT_EQ(copy_after(2, 16, 3), 0U);
}

TEST(SamplePlan, CutsALongTurnIntoGraphsOfAboutEqualLength) {
  EXPECT_THAT(plan_sample(20, 0, 10, 4),
              ElementsAre(GraphRuns{{0, 3}, 1}, GraphRuns{{3, 3}, 1}, GraphRuns{{6, 4}, 1},
                          GraphRuns{{0, 3}, 1}, GraphRuns{{3, 3}, 1}, GraphRuns{{6, 4}, 1}));
}

TEST(SamplePlan, NothingIsOfNoGraphs) {
  EXPECT_THAT(plan_sample(0, 0, 3, 8), IsEmpty());
}

TEST(SamplePlan, LaunchesOnEachCopyInTurnForEveryCountAndStart) {
  for (const std::size_t copies : {1U, 2U, 3U, 7U, 8U, 9U, 20U, 31U}) {
    for (const std::size_t most : {1U, 2U, 5U, 8U}) {
      for (std::size_t first = 0; first < copies; ++first) {
        for (const std::uint64_t iterations : {1U, 2U, 7U, 8U, 9U, 40U, 63U}) {
          const std::vector<GraphRuns> plan = plan_sample(iterations, first, copies, most);
          ASSERT_EQ(copies_of(plan, copies), in_turn(iterations, first, copies))
              << iterations << " from " << first << " of " << copies << ", at most " << most;
          for (const GraphRuns& part : plan) ASSERT_LE(part.shape.launches, most);
        }
      }
    }
  }
}

TEST(SamplePlan, FewGraphsServeManySamples) {
  std::set<GraphShape> shapes;
  std::size_t first = 0;
  for (int sample = 0; sample < 1000; ++sample) {
    for (const GraphRuns& part : plan_sample(777, first, 120, 256)) shapes.insert(part.shape);
    first = copy_after(first, 777, 120);
  }
  // A sample of 777 begins on one of 120 / gcd(777, 120) = 40 copies: one graph of whole turns, two ends for
  // each.
  EXPECT_LE(shapes.size(), 81U);
}

}  // namespace
}  // namespace headroom::cuda
