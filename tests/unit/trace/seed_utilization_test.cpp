// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/recording/seed_utilization.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

TEST(SeedUtilization, CountsEveryEventOfALabelledProcess) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm", 1000, 4000);                                                        // 1..5 us
  builder.event(Category::kGpuAnnotation, "ProfilerStep#1", 2000, 8000, builder.thread("0", "7"));  // ..10 us
  builder.event(Category::kPython, "conv(): a Python function", 20000, 1000, builder.thread("0", "python"));
  builder.kernel("volta_sgemm", 30000, 5000, kNoCorrelation, 1);
  builder.op("aten::mm", 0, 100000);  // its process is labelled CPU
  const SeedUtilization seed = seed_utilization(builder.trace, 1e-3);
  EXPECT_DOUBLE_EQ(seed.utilization, (9 + 1 + 5) / 1000.0);
  EXPECT_DOUBLE_EQ(seed.mm_conv_utilization, (4 + 1 + 5) / 1000.0);
}

TEST(SeedUtilization, NoLabelNoAnswer) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm", 1000, 4000);
  for (Thread& thread : builder.trace.threads) thread.process_labels.clear();
  EXPECT_EQ(seed_utilization(builder.trace, 1).utilization, 0.0);
}

// With a clock of 2e15 us a Python float holds quarters of a microsecond: the original's sums are rounded so.
TEST(SeedUtilization, RoundsAsPythonDoes) {
  TraceBuilder builder;
  constexpr std::int64_t kNow = 1'669'000'000'000'000'000;
  builder.trace.base_time_ns = 0;
  builder.kernel("a", kNow + 100, 1000);  // end 1.1 us rounds to 1.0: the union has 1.0
  builder.kernel("b", kNow + 600, 1000);  // from 1.0 to 1.6, which rounds to 1.5
  EXPECT_DOUBLE_EQ(seed_utilization(builder.trace, 1e-6).utilization, 1.5);
  builder.trace.base_time_ns = kNow;  // the file's own times are small: exact but for the last bit
  EXPECT_NEAR(seed_utilization(builder.trace, 1e-6).utilization, 1.5, 1e-12);
}

TEST(SeedUtilization, TimesOfMoreDecimalsThanNanosecondsAreTakenAsWritten) {
  TraceBuilder builder;
  builder.kernel("a", 1000, 4000);
  builder.trace.precise_times = {{0, 1.0004, 4.00049}};
  EXPECT_EQ(seed_utilization(builder.trace, 1e-6).utilization, 4.00049);
}

TEST(SeedUtilization, ProcessesAreComparedAsPythonDoes) {
  for (const auto& [labelled, used] :
       {std::pair("true", "1"), {"1.0", "1"}, {"false", "0"}, {"2", "2.0"}, {"1e1", "10"}}) {
    TraceBuilder builder;
    builder.thread(labelled, "0", "GPU 0");
    builder.event(Category::kKernel, "a", 0, 1000, builder.thread(used, "7"));
    EXPECT_DOUBLE_EQ(seed_utilization(builder.trace, 1e-6).utilization, 1) << labelled << " " << used;
  }
  TraceBuilder builder;
  builder.thread("1.5", "0", "GPU 0");
  builder.event(Category::kKernel, "a", 0, 1000, builder.thread("1", "7"));
  EXPECT_EQ(seed_utilization(builder.trace, 1e-6).utilization, 0);
}

TEST(SeedUtilization, LabelsCountInAnEventOfAnyPhase) {
  ReadOptions options;
  options.needs = kSeedUtilizationNeeds;
  const Trace trace = read_text(
      R"([{"ph": "X", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "dur": 0, "args": {"labels": "GPU 0"}},
          {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "other"}},
          {"ph": "X", "name": "a", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 2}])",
      "test.json", options);
  EXPECT_DOUBLE_EQ(seed_utilization(trace, 1e-6).utilization, 2);
}

TEST(SeedUtilization, ALengthMustBeATime) {
  const TraceBuilder builder;
  EXPECT_THROW(seed_utilization(builder.trace, 0), Error);
  EXPECT_THROW(seed_utilization(builder.trace, -1), Error);
  EXPECT_THROW(seed_utilization(builder.trace, std::numeric_limits<double>::quiet_NaN()), Error);
}

// parity/trace/expected.json: what the original answered for each file.
TEST(SeedUtilization, EqualsTheOriginalOnEveryRealFile) {
  const std::filesystem::path shared = HEADROOM_SHARED;
  if (!std::filesystem::exists(shared / "parity/trace/expected.json"))
    GTEST_SKIP() << "needs " << shared / "parity/trace/expected.json";
  std::ifstream file(shared / "parity/trace/expected.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json expected = parse_json(text, "expected.json");
  EXPECT_GE(expected.size(), 20U);
  ReadOptions options;
  options.needs = kSeedUtilizationNeeds;
  for (const auto& [name, figures] : expected.items()) {
    const SeedUtilization seed = seed_utilization(read(shared / "traces" / name, options),
                                                  json_number(figures, "total_length_s", name));
    EXPECT_NEAR(seed.utilization, json_number(figures, "utilization", name), 1e-9) << name;
    EXPECT_NEAR(seed.mm_conv_utilization, json_number(figures, "mm_conv_utilization", name), 1e-9) << name;
  }
}

}  // namespace
}  // namespace headroom::trace
