// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/hardware_counters.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "headroom/command/measured_command.h"

namespace headroom {
namespace {

/// Software events count in the same way, and virtual machines have them.
constexpr std::array<CounterEvent, 2> kSoftware{{
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
}};

std::vector<std::optional<double>> count(ChildCounters& counters, const std::string& line) {
  CommandSpec spec;
  spec.arguments = shell_arguments(line);
  counters.start();
  EXPECT_TRUE(run_command(spec).ok());
  return counters.stop();
}

TEST(ChildCounters, CountChildrenWithTheirDescendantsAndNotUs) {
  ChildCounters counters(kSoftware);
  if (!counters.any()) GTEST_SKIP() << "the kernel counts nothing here: " << counters.absence();
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto busy = count(counters, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    const auto idle = count(counters, "exec true");
    const auto nested = count(counters, "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' & wait");
    ASSERT_TRUE(busy[0] && idle[0] && nested[0]) << repeat;
    EXPECT_GT(*busy[0], 2 * *idle[0]);
    EXPECT_GT(*nested[0], 2 * *idle[0]);
    ASSERT_TRUE(busy[1] && idle[1]);
    EXPECT_GT(*idle[1], 10);
  }
}

TEST(ChildCounters, WithoutAChildThereIsNothingToTell) {
  ChildCounters counters(kSoftware);
  counters.start();
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  for (const auto& count : counters.stop()) EXPECT_FALSE(count);
}

TEST(ChildCounters, WhatIsNotCountedHereSaysWhy) {
  constexpr std::array<CounterEvent, 1> kNone{{{"nothing", 12345, 0}}};
  ChildCounters counters(kNone);
  EXPECT_FALSE(counters.any());
  EXPECT_FALSE(counters.absence().empty());
  counters.start();
  EXPECT_FALSE(counters.stop().at(0));
  EXPECT_EQ(hardware_events().size(), ChildCounters().stop().size());
}

}  // namespace
}  // namespace headroom
