// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/team.h"

#include <gtest/gtest.h>

#include <atomic>

namespace headroom {
namespace {

TEST(Team, CallsEachWorkerOnce) {
  for (const int workers : {1, 2, 5}) {
    std::atomic<int> sum{0};
    fresh_threads(workers)([&](int worker, int of) {
      EXPECT_EQ(of, workers);
      sum += 1 << worker;
    });
    EXPECT_EQ(sum, (1 << workers) - 1);
  }
}

}  // namespace
}  // namespace headroom
