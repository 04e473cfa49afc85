// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace headroom {
namespace {

TEST(Affinity, ListsAscendingCpusAndTheOneWeRunOn) {
  const std::vector<int> cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_NE(std::find(cpus.begin(), cpus.end(), sched_getcpu()), cpus.end());
}

TEST(Affinity, PinsOnlyTheCallingThread) {
  const std::vector<int> before = allowed_cpus();
  std::thread([&] {
    ASSERT_TRUE(pin_this_thread(before.back()));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
    EXPECT_EQ(sched_getcpu(), before.back());
    ASSERT_TRUE(pin_this_thread(before));
    EXPECT_EQ(allowed_cpus(), before);
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Affinity, RefusesWhatIsNotThere) {
  const std::vector<int> before = allowed_cpus();
  EXPECT_FALSE(pin_this_thread(-1));
  EXPECT_FALSE(pin_this_thread(100000));
  EXPECT_FALSE(pin_this_thread(2000000000));
  EXPECT_FALSE(pin_this_thread(std::vector<int>{}));
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace headroom
