// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/recording/recording_clock.h"

#include <gmock/gmock.h>

#include "../error_message.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClockMap, OffsetAndRateComeOfTwoPairs) {
  // The device's clock gains 20 parts in a million.
  const ClockMap map({5 * kSecond, 900}, {7 * kSecond + 40'000, 2 * kSecond + 900});
  EXPECT_EQ(map(5 * kSecond), 900);
  EXPECT_EQ(map(7 * kSecond + 40'000), 2 * kSecond + 900);
  EXPECT_EQ(map(6 * kSecond + 20'000), kSecond + 900);
  EXPECT_EQ(map(4 * kSecond - 20'000), -kSecond + 900) << "before the first pair too";
}

TEST(ClockMap, PairsThatAreCloseGiveTheOffsetAlone) {
  // A reading that is 2 us off in 1 ms would be 2000 parts in a million.
  const ClockMap map({100, 1'000'100}, {1'000'100, 2'002'100});
  EXPECT_EQ(map(500'100), 1'500'100);
}

TEST(ClockMap, NanosecondsSince1970AreKept) {
  constexpr std::int64_t kNow = 1'763'798'400'123'456'789;
  const ClockMap map({kNow, 77}, {kNow + kSecond, 77 + kSecond});
  EXPECT_EQ(map(kNow + 1), 78);
  EXPECT_EQ(map(kNow + 999'999'999), 77 + 999'999'999);
}

TEST(ClockMap, AClockThatWasSetIsRefused) {
  using testing::HasSubstr;
  EXPECT_THAT(test::message_of([] { ClockMap({0, 0}, {-kSecond, kSecond}); }), HasSubstr("record again"));
  EXPECT_THAT(test::message_of([] {
                ClockMap({0, 0}, {3600 * kSecond, kSecond});
              }),
              HasSubstr("went 3600.000000 s while the system's went 1.000000 s"));
}

TEST(ReadClocks, CountFrom1970AndFromSomewhere) {
  const ClockReading first = read_clocks(), second = read_clocks();
  EXPECT_GT(first.unix_ns, 1'600'000'000 * kSecond);
  EXPECT_GE(second.steady_ns, first.steady_ns);
}

}  // namespace
}  // namespace headroom::trace
