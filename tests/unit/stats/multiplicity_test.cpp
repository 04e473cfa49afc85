// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/multiplicity.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace headroom {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using Values = std::vector<double>;

auto near(double value) {
  return DoubleNear(value, 1e-12);
}

TEST(Holm, StepsDown) {
  // By R: p.adjust(c(.01, .04, .03, .005), "holm")
  EXPECT_THAT(holm_adjusted(Values{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(near(0.03), near(0.06), near(0.06), near(0.02)));
}

TEST(Holm, NeverFallsAndNeverPassesOne) {
  EXPECT_THAT(holm_adjusted(Values{0.9, 0.02, 0.011}), ElementsAre(near(0.9), near(0.04), near(0.033)));
  EXPECT_THAT(holm_adjusted(Values{0.6, 0.7}), ElementsAre(near(1), near(1)));
}

TEST(BenjaminiHochberg, StepsUp) {
  // By R: p.adjust(c(.01, .04, .03, .005), "BH")
  EXPECT_THAT(benjamini_hochberg_adjusted(Values{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(near(0.02), near(0.04), near(0.04), near(0.02)));
}

TEST(Multiplicity, OfOneIsItself) {
  EXPECT_THAT(holm_adjusted(Values{0.2}), ElementsAre(near(0.2)));
  EXPECT_THAT(benjamini_hochberg_adjusted(Values{0.2}), ElementsAre(near(0.2)));
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(Multiplicity, RefusesWhatIsNoProbability) {
  EXPECT_THROW(holm_adjusted(Values{0.5, 1.5}), std::invalid_argument);
  EXPECT_THROW(benjamini_hochberg_adjusted(Values{-0.1}), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
