// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/line_fit.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

TEST(LineFit, FindsTheLineThatMadeThePoints) {
  const std::vector<double> x{0.004, 0.0625, 1, 4, 25};
  std::vector<double> y;
  for (const double size : x) y.push_back(85 + 1900 * size);
  const auto fit = fit_line(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->intercept, 85, 1e-6);
  EXPECT_NEAR(fit->slope, 1900, 1e-6);
  EXPECT_LT(fit->worst_error, 1e-9);
}

TEST(LineFit, SmallValuesCountAsMuchAsLargeOnes) {
  // 100 + x, but for 300 too much at x = 1000.
  const std::vector<double> x{1, 2, 1000, 2000}, y{101, 102, 1400, 2000};
  const auto fit = fit_line(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->intercept, 100, 2);
  EXPECT_GT(fit->worst_error, 0.05);
}

TEST(LineFit, NeedsTwoSizesAndTimesAboveZero) {
  EXPECT_FALSE(fit_line(std::vector<double>{}, std::vector<double>{}));
  EXPECT_FALSE(fit_line(std::vector<double>{4, 4}, std::vector<double>{1, 2}));
  EXPECT_THROW(fit_line(std::vector<double>{1, 2}, std::vector<double>{1, 0}), std::invalid_argument);
  EXPECT_THROW(fit_line(std::vector<double>{1, 2}, std::vector<double>{1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
