// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/percentile_comparison.h"

#include <gtest/gtest.h>

#include "sample_records.h"

namespace headroom {
namespace {

using test::record_of;

std::vector<double> up_to(std::size_t count, double factor) {
  std::vector<double> values(count);
  // Mixed: values that only grow are drift, and tell nothing of a percentile.
  for (std::size_t i = 0; i < count; ++i) values[i] = factor * static_cast<double>(i * 37 % count + 1);
  return values;
}

TEST(ComparePercentile, IsLinearAndHasOrderStatistics) {
  const Record before = record_of("a", up_to(101, 1)), after = record_of("a", up_to(101, 3));
  const auto found = compare_percentile(compare_records(before, after), 75);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->baseline, 76);
  EXPECT_DOUBLE_EQ(found->test, 228);
  EXPECT_DOUBLE_EQ(found->ratio, 3);
  ASSERT_TRUE(found->ratio_interval && found->baseline_interval);
  EXPECT_TRUE(found->ratio_interval->contains(3));
  EXPECT_GT(found->ratio_interval->high, found->test_interval->high / found->baseline);
}

TEST(ComparePercentile, IsUndefinedWhereTheSampleIsTooSmall) {
  const Record small = record_of("a", up_to(20, 1));
  const auto found = compare_percentile(compare_records(small, small), 95);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->ratio_interval);
  EXPECT_FALSE(found->baseline_interval);
}

TEST(ComparePercentile, IsNothingWithoutSamples) {
  Record lone = record_of("a", {});
  lone.metric.value = 1;
  EXPECT_FALSE(compare_percentile(compare_records(lone, lone), 50));
}

}  // namespace
}  // namespace headroom
