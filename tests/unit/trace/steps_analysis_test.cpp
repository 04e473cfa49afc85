// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "analysis_run.h"
#include "headroom/trace/columns/steps.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

TEST(Steps, InOrderWithTheLastOne) {
  TraceBuilder builder;
  builder.step(8, 200, 100);
  builder.step(7, 100, 100);
  builder.annotation("ProfilerStep", 0, 10);
  builder.event(Category::kGpuAnnotation, "ProfilerStep#7", 150, 100, builder.thread("0", "7"));
  const std::vector<Step> found = steps(builder.trace);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].number, 7);
  EXPECT_EQ(found[1].number, 8);
  EXPECT_EQ(found[1].end_ns, 300);
}

// Kineto once wrote annotations as operators. They are read with the annotations: no analysis asks for more.
TEST(Steps, OfAnOldFileWithoutAskingForItsOperators) {
  ReadOptions options;
  options.needs = Needs::kGpuWork;
  const Trace trace = read_text(R"({"traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 1, "tid": "1", "ts": 100, "dur": 50, "args": {}},
    {"ph": "X", "cat": "Operator", "name": "enumerate(DataLoader)#_X.__next__", "pid": 1, "tid": "1", "ts": 100, "dur": 5},
    {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 1, "tid": "1", "ts": 110, "dur": 5}]})",
                                "old.json", options);
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events_skipped_by_need, 1U);
  const std::vector<Step> found = steps(trace);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].number, 5);
}

/// A step of 100 in which every part runs, each over the end of the one before it.
TraceBuilder every_part() {
  TraceBuilder builder;
  builder.step(1, 0, 100);
  builder.kernel("gemm", -5, 15);                               // 0..10: what is before the step is not in it
  builder.copy(5, 15);                                          // ..20
  builder.set(15, 15);                                          // ..30
  builder.kernel("ncclKernel", 25, 15, kNoCorrelation, 0, 20);  // ..40
  builder.runtime("cudaLaunchKernel", 35, 15);                  // ..50
  builder.annotation("enumerate(DataLoader)#x.__next__", 45, 15);  // ..60
  builder.op("aten::mm", 55, 15);                                  // ..70, then nothing
  return builder;
}

TEST(StepsAnalysis, EachMomentIsTheFirstOfItsPartsAndAllSumToTheWall) {
  const AnalysisResult result = run_analysis("steps", every_part().trace);
  const DataTable& table = table_of(result, "steps");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(text(table, 0, "step"), "1");
  EXPECT_EQ(integer(table, 0, "wall_ns"), 100);
  EXPECT_EQ(integer(table, 0, "busy_ns"), 40);
  for (const char* part : {"kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns",
                           "data_loader_ns", "cpu_ns"}) {
    EXPECT_EQ(integer(table, 0, part), 10) << part;
  }
  EXPECT_EQ(integer(table, 0, "other_ns"), 30);
  EXPECT_DOUBLE_EQ(headline(result, "step_utilization"), 0.4);
}

TEST(StepsAnalysis, CommunicationOfTheHost) {
  TraceBuilder builder;
  builder.step(1, 0, 100);
  builder.annotation("gloo:all_reduce", 10, 20);
  EXPECT_EQ(integer(table_of(run_analysis("steps", builder.trace), "steps"), 0, "communication_ns"), 20);
}

TEST(StepsAnalysis, WithoutStepsTheWholeFileIsOne) {
  TraceBuilder builder;
  builder.op("aten::mm", 10, 20);
  builder.kernel("a", 50, 10);
  const AnalysisResult result = run_analysis("steps", builder.trace);
  EXPECT_EQ(text(table_of(result, "steps"), 0, "step"), "all");
  EXPECT_EQ(integer(table_of(result, "steps"), 0, "wall_ns"), 50);
  EXPECT_EQ(integer(table_of(result, "steps"), 0, "other_ns"), 20);
  EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr("no ProfilerStep")));
}

TEST(StepsAnalysis, SeveralDevicesHaveATableOfTheirOwn) {
  TraceBuilder builder;
  builder.step(1, 0, 100);
  builder.kernel("a", 0, 50);
  builder.kernel("a", 25, 50, kNoCorrelation, 1);
  const AnalysisResult result = run_analysis("steps", builder.trace);
  EXPECT_EQ(integer(table_of(result, "steps"), 0, "busy_ns"), 75);
  const DataTable& devices = table_of(result, "step_devices");
  EXPECT_EQ(integer(devices, row_with(devices, "device", "1"), "busy_ns"), 50);
}

/// The device has nothing to do from 10 to 190, over the end of the first step at 100.
TEST(StepsAnalysis, EachStepHasItsCulprits) {
  TraceBuilder builder;
  builder.step(1, 0, 100);
  builder.step(2, 100, 100);
  builder.runtime("cudaLaunchKernel", 0, 5, 1);
  builder.kernel("a", 5, 5, 1);
  builder.annotation("enumerate(DataLoader)#x.__next__", 20, 80);
  builder.annotation("enumerate(DataLoader)#x.__next__", 105, 20);
  builder.event(Category::kPython, "train.py(9): log", 130, 40, builder.thread(TraceBuilder::kHostPid, "1"));
  builder.runtime("cudaLaunchKernel", 180, 5, 2);
  builder.kernel("a", 190, 10, 2);
  const AnalysisResult result = run_analysis("steps", builder.trace);
  const DataTable& culprits = table_of(result, "step_culprits");
  ASSERT_EQ(culprits.rows.size(), 6U);
  const auto expect_row = [&](std::size_t row, const char* step, const char* doing, std::int64_t idle_ns) {
    EXPECT_EQ(text(culprits, row, "step"), step);
    EXPECT_EQ(text(culprits, row, "doing"), doing);
    EXPECT_EQ(integer(culprits, row, "idle_ns"), idle_ns);
  };
  expect_row(0, "1", "data loading", 80);
  expect_row(1, "1", "not recorded", 10);
  expect_row(2, "2", "program", 40);
  EXPECT_EQ(text(culprits, 2, "what"), "train.py(9): log");
  expect_row(3, "2", "data loading", 20);
  EXPECT_EQ(integer(culprits, 3, "longest_ns"), 20);
  expect_row(4, "2", "not recorded", 20);
  expect_row(5, "2", "others", 10);  // the launch
  EXPECT_DOUBLE_EQ(number(culprits, 2, "share"), 40.0 / 90);
  // With all of them each kind of both steps sums to that of idle.
  const AnalysisResult all = run_analysis("steps", builder.trace, {}, 0),
                       idle = run_analysis("idle", builder.trace);
  const DataTable& tree = table_of(idle, "culprits");
  std::map<std::string, std::int64_t> of_steps, of_idle;
  const DataTable& every = table_of(all, "step_culprits");
  for (std::size_t row = 0; row < every.rows.size(); ++row)
    of_steps[text(every, row, "doing")] += integer(every, row, "idle_ns");
  for (std::size_t row = 0; row < tree.rows.size(); ++row) {
    if (integer(tree, row, "depth") == 0) of_idle[text(tree, row, "what")] = integer(tree, row, "idle_ns");
  }
  EXPECT_EQ(of_steps, of_idle);
}

TEST(StepsAnalysis, AnEmptyTraceSaysSo) {
  const TraceBuilder builder;
  EXPECT_THAT(run_analysis("steps", builder.trace).notes, testing::Contains(testing::HasSubstr("no events")));
}

}  // namespace
}  // namespace headroom::trace
