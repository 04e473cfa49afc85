// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/share.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "noise.h"

namespace headroom {
namespace {

using Values = std::vector<double>;

Values ones(std::size_t count, std::size_t of) {
  Values values(of);
  for (std::size_t i = 0; i < count; ++i) values[i * of / count] = 1;
  return values;
}

TEST(SeriesShare, HasWilsonsInterval) {
  // Newcombe 1998, table I: 15 of 148; 0 of 20.
  const Interval interval = SeriesShare(ones(15, 148)).interval(0.95);
  EXPECT_NEAR(interval.low, 0.0624, 5e-5);
  EXPECT_NEAR(interval.high, 0.1605, 5e-5);
  EXPECT_EQ(SeriesShare(Values(20, 0.0)).interval(0.95).low, 0);
  EXPECT_NEAR(SeriesShare(Values(20, 0.0)).interval(0.95).high, 0.1611, 5e-5);
}

TEST(SeriesShare, IsWiderWhereNeighboursAreAlike) {
  Values runs;
  for (int i = 0; i < 100; ++i) runs.push_back(i / 10 % 2);
  const Interval mixed = SeriesShare(ones(50, 100)).interval(0.95), sticky = SeriesShare(runs).interval(0.95);
  EXPECT_GT(sticky.high - sticky.low, 1.8 * (mixed.high - mixed.low));
}

TEST(SeriesShare, CoversWhatProcessesSay) {
  Values values = ones(10, 50);
  const Values other = ones(40, 50);
  values.insert(values.end(), other.begin(), other.end());
  const std::vector<std::size_t> sizes{50, 50};
  EXPECT_EQ(SeriesShare(values, sizes).interval(0.95).low, 0);
  EXPECT_EQ(SeriesShare(values, sizes).interval(0.95).high, 1);
}

TEST(SeriesShare, CoversTheTruthOfAMarkovChain) {
  test::Noise noise(3);
  for (const double stay : {0.0, 0.5, 0.8}) {
    int covered = 0;
    for (int i = 0; i < 500; ++i) {
      Values values;
      bool is = noise.uniform() < 0.3;
      for (int j = 0; j < 100; ++j) {
        if (noise.uniform() >= stay) is = noise.uniform() < 0.3;
        values.push_back(is ? 1 : 0);
      }
      covered += SeriesShare(values).interval(0.95).contains(0.3) ? 1 : 0;
    }
    EXPECT_GE(covered, 460) << stay;
  }
}

TEST(ShareDifference, HasNewcombesInterval) {
  // Newcombe 1998, table II, method 10: 56 of 70 less 48 of 80. Neighbours that avoid each other count as
  // chance.
  const Interval interval =
      share_difference_interval(SeriesShare(ones(56, 70)), SeriesShare(ones(48, 80)), 0.95);
  EXPECT_NEAR(interval.low, 0.0524, 5e-5);
  EXPECT_NEAR(interval.high, 0.3339, 5e-5);
}

TEST(SeriesShare, RefusesWhatIsNone) {
  EXPECT_THROW(SeriesShare(Values{}), std::invalid_argument);
  EXPECT_THROW(SeriesShare(Values{0, 2}), std::invalid_argument);
  EXPECT_THROW(SeriesShare(Values{0, 1}, std::vector<std::size_t>{1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
