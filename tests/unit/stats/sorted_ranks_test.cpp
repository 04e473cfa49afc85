// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/sorted_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

Values ranks_of(Values values) {
  Values sorted = values;
  std::ranges::sort(sorted);
  replace_by_ranks(values, sorted);
  return values;
}

/// By counting, value for value.
double counted_rank(const Values& values, double value) {
  const auto below = std::ranges::count_if(values, [value](double other) { return other < value; });
  const auto equal = std::ranges::count(values, value);
  return static_cast<double>(below) + 0.5 * static_cast<double>(equal + 1);
}

TEST(SortedRanks, TiesShareTheirMean) {
  EXPECT_EQ(ranks_of({30, 10, 20, 10, 10}), (Values{5, 2, 4, 2, 2}));
  EXPECT_EQ(ranks_of({7}), Values{1});
  EXPECT_EQ(ranks_of({}), Values{});
  EXPECT_EQ(ranks_of({0.0, -0.0}), (Values{1.5, 1.5}));
}

TEST(SortedRanks, OfManyAreThoseThatCountingGives) {
  test::Noise noise(5);
  for (const std::size_t count : {2047U, 2048U, 2049U, 3072U, 5000U}) {
    for (const double grain : {0.0, 0.01, 1.0}) {
      Values values = noise.series(count, 0);
      if (grain > 0)
        for (double& value : values) value = grain * std::round(value / grain);
      const Values ranks = ranks_of(values);
      for (std::size_t i = 0; i < count; i += 7)
        ASSERT_EQ(ranks[i], counted_rank(values, values[i])) << count;
      ASSERT_EQ(ranks.back(), counted_rank(values, values.back()));
      const auto largest = std::ranges::max_element(values) - values.begin();
      ASSERT_EQ(ranks[static_cast<std::size_t>(largest)],
                counted_rank(values, values[static_cast<std::size_t>(largest)]));
    }
  }
}

}  // namespace
}  // namespace headroom
