// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/slice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace headroom {
namespace {

TEST(Slice, CoversEveryUnitOnceAndInOrder) {
  for (const std::size_t count : {0, 1, 2, 3, 7, 64, 1000, 1025}) {
    for (const int workers : {1, 2, 3, 5, 64}) {
      std::size_t next = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const Slice slice = slice_of(count, worker, workers);
        EXPECT_EQ(slice.begin, next) << count << " units, worker " << worker << " of " << workers;
        EXPECT_LE(slice.size(), count / static_cast<std::size_t>(workers) + 1);
        EXPECT_GE(slice.size(), count / static_cast<std::size_t>(workers));
        next = slice.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Slice, DoesNotWrapAtHugeCounts) {
  const std::size_t count = std::numeric_limits<std::size_t>::max() - 1;
  EXPECT_EQ(slice_of(count, 63, 64).end, count);
  EXPECT_EQ(slice_of(count, 0, 64).begin, 0U);
}

}  // namespace
}  // namespace headroom
