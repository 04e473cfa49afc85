// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "run_case.h"

namespace headroom::native {
namespace {

using ::testing::HasSubstr;

TEST(LimitExperiments, LimitsCountWholeLinesOnly) {
  for (const char* experiment : {"limit.read", "limit.write", "limit.copy"}) {
    const char* pattern = std::string(experiment) == "limit.read" ? "linear" : "plain";
    const Outcome outcome = run(hot_case(experiment, {{"bytes", "1000"}, {"pattern", pattern}}));
    expect_measured(outcome, experiment);
    const double per_pass = outcome.info.work.bytes / std::stod(outcome.info.notes.at("passes"));
    EXPECT_EQ(per_pass, std::string(experiment) == "limit.copy" ? 896 : 960) << experiment;
  }
}

TEST(LimitExperiments, LimitsSayWhatTheyWrite) {
  const Work write = run(hot_case("limit.write", {{"bytes", "65536"}, {"pattern", "nontemporal"}})).info.work;
  EXPECT_EQ(write.bytes_written, write.bytes);
  const Work copy = run(hot_case("limit.copy", {{"bytes", "65536"}, {"pattern", "prefetch"}})).info.work;
  EXPECT_EQ(copy.bytes_written, copy.bytes / 2);
}

TEST(LimitExperiments, AWorkingSetUnderOneLineIsSkipped) {
  EXPECT_THAT(run(hot_case("limit.read", {{"bytes", "63"}, {"pattern", "linear"}})).skipped, HasSubstr("63"));
}

TEST(LimitExperiments, PeaksRunOrAreSkippedWithAReason) {
  for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
    for (const char* pattern : {"fma", "dot", "amx"}) {
      const Outcome outcome = run(hot_case("limit.peak", {{"dtype", dtype}, {"pattern", pattern}}));
      if (!outcome.skipped.empty()) {
        EXPECT_NE(std::string(pattern), "fma") << "every CPU multiplies and adds: " << outcome.skipped;
        continue;
      }
      expect_measured(outcome, dtype);
      EXPECT_GT(outcome.info.work.flops, 0);
      EXPECT_EQ(outcome.info.work.dtype, dtype);
    }
  }
}

TEST(LimitExperiments, PingPongNeedsTwoThreads) {
  EXPECT_THAT(run(hot_case("limit.pingpong", {}, 1)).skipped, HasSubstr("two threads"));
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const Outcome outcome = run(hot_case("limit.pingpong", {}, 2));
  expect_measured(outcome, "limit.pingpong");
  // A transfer between caches takes more than a cycle and less than a system call.
  EXPECT_GT(outcome.samples[0].elapsed_ns / 3, 1);
}

}  // namespace
}  // namespace headroom::native
