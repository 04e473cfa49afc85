// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collective_sizes.h"

#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

TEST(CollectiveSizes, AreWholeElements) {
  EXPECT_EQ(collective_bytes("all_reduce", 1023, "f32", 3), 1020);
  EXPECT_EQ(collective_bytes("broadcast", 1023, "f64", 3), 1016);
  EXPECT_EQ(collective_bytes("all_reduce", 1, "i64", 2), 8) << "one element at least";
}

TEST(CollectiveSizes, AreTheSameForEachRankWhereEachHasAPart) {
  EXPECT_EQ(collective_bytes("all_gather", 1024, "f32", 3), 1020);
  EXPECT_EQ(collective_bytes("reduce_scatter", 1, "f16", 4), 8);
  EXPECT_EQ(collective_bytes("all_to_all", 4096, "i32", 4), 4096);
}

TEST(CollectiveSizes, OfAnUnknownDtypeAreRefused) {
  EXPECT_THROW(collective_bytes("all_reduce", 64, "bf16", 2), Error);
}

TEST(ExchangedBytes, AreWhatARankHasToSend) {
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_reduce", 1200, 4), 1800);
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_gather", 1200, 4), 900);
  EXPECT_DOUBLE_EQ(exchanged_bytes("broadcast", 1200, 2), 600)
      << "the mean of one that sends all and one that sends none";
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_reduce", 1200, 1), 0);
}

}  // namespace
}  // namespace headroom
