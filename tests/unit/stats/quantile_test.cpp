// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

using Values = std::vector<double>;

// numpy.quantile([3, 1, 4, 1, 5], p): sorted 1 1 3 4 5, position 4 p.
TEST(Quantile, InterpolatesAsNumpyDoes) {
  const Values values = {3, 1, 4, 1, 5};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.4), 2.2);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 4.6);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 5);
}

TEST(Quantile, OfOneValueIsThatValue) {
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 0), 7);
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 0.3), 7);
  EXPECT_DOUBLE_EQ(quantile(Values{7}, 1), 7);
}

TEST(Quantile, RefusesWhatHasNone) {
  EXPECT_THROW(quantile(Values{}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1, NAN}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1, INFINITY}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, -0.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile(Values{1}, NAN), std::invalid_argument);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median(Values{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median(Values{9, 1, 5, 6}), 5.5);
}

TEST(MedianAbsoluteDeviation, IgnoresOneSpike) {
  // Deviations from 3: 2 1 0 1 997.
  EXPECT_DOUBLE_EQ(median_absolute_deviation(Values{1, 2, 3, 4, 1000}), 1);
}

TEST(Mean, OfHugeValuesDoesNotOverflow) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(mean(Values{huge, huge}), huge);
  EXPECT_DOUBLE_EQ(mean(Values{1, 2, 6}), 3);
  EXPECT_THROW(mean(Values{}), std::invalid_argument);
}

TEST(StandardDeviation, DividesByOneLessThanTheCount) {
  // Squares about 5: 9 1 1 1 0 0 4 16 = 32, over 7.
  EXPECT_DOUBLE_EQ(standard_deviation(Values{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(standard_deviation(Values{3}), 0);
}

}  // namespace
}  // namespace headroom
