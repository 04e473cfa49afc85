// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "analysis_run.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/index/trace_index.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

void launched(TraceBuilder& builder, std::int64_t correlation, std::int64_t call_ns, std::int64_t start_ns,
              std::int64_t duration_ns, std::int32_t device = 0) {
  builder.runtime("cudaLaunchKernel", call_ns, 5, correlation);
  builder.kernel("gemm", start_ns, duration_ns, correlation, device);
}

void many_launches(TraceBuilder& builder, std::int64_t count, std::int64_t period_ns,
                   std::int64_t from_ns = 0) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = from_ns + i * period_ns;
    launched(builder, at + 1, at, at + 20, period_ns / 2);
  }
}

std::vector<std::int64_t> step_numbers(const StepSet& set) {
  std::vector<std::int64_t> found;
  for (const Step& step : set.steps) found.push_back(step.number);
  return found;
}

TEST(TraceIndex, ComputesEachPartOnce) {
  TraceBuilder builder;
  builder.step(1, 0, 1000);
  many_launches(builder, 10, 100);
  builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500, 50);
  const TraceIndex index(builder.trace);
  EXPECT_EQ(&index.launches(), &index.launches());
  EXPECT_EQ(&index.steps(), &index.steps());
  EXPECT_EQ(&index.idle(), &index.idle());
  EXPECT_EQ(index.launches(), launches(builder.trace));
  EXPECT_EQ(index.ops(), launching_ops(builder.trace, launches(builder.trace)));
  EXPECT_EQ(index.types(), kernel_types(builder.trace));
  EXPECT_EQ(index.devices().size(), 1U);
  EXPECT_EQ(index.streams().size(), 1U);
  ASSERT_EQ(index.calls().size(), 1U);
  EXPECT_EQ(index.calls()[0].iteration, 1);
}

TEST(Window, IsThatOfTheSteps) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  builder.step(1, 1000, 1000);
  builder.step(2, 2000, 900);
  many_launches(builder, 20, 100, 1000);
  const Span window = TraceIndex(builder.trace).window();
  EXPECT_EQ(window.start, 1000);
  EXPECT_EQ(window.end, 2900);
}

TEST(Window, WithoutStepsIsThatOfTheDevices) {
  TraceBuilder builder;
  many_launches(builder, 10, 100, 50'000);
  const Span alone = TraceIndex(builder.trace).window();
  EXPECT_EQ(alone.start, 50'000);
  EXPECT_EQ(alone.end, 50'970);
  const std::uint32_t thread = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kPython, "torch/profiler/profiler.py(201): start_trace", 0, 49'990, thread);
  builder.runtime("cudaDeviceSynchronize", 60'000, 10);
  builder.op("aten::to", 70'000, 100);
  EXPECT_EQ(TraceIndex(builder.trace).window(), alone);
}

TEST(Window, DoesNotBeginWithALaunchThatWaitedForLong) {
  TraceBuilder builder;
  launched(builder, 1, 0, 40'000, 50);
  many_launches(builder, 10, 100, 40'100);
  EXPECT_EQ(TraceIndex(builder.trace).window().start, 40'000 - 20);
}

TEST(Window, DoesNotBeginWithAQueueWhoseWorkIsNotInTheFile) {
  TraceBuilder builder;
  for (int i = 0; i < 10; ++i) launched(builder, i + 1, 1000 * i, 8'000'000 + 1000 * i, 900);
  EXPECT_EQ(TraceIndex(builder.trace).window().start, 8'000'000 - 100'005);
}

TEST(Window, WithoutLaunchesBeginsWithTheFirstWork) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  builder.kernel("gemm", 500, 100);
  builder.kernel("gemm", 700, 100);
  EXPECT_EQ(TraceIndex(builder.trace).window(), (Span{500, 800}));
}

TEST(Window, OfAHostAloneIsTheWholeTrace) {
  TraceBuilder builder;
  builder.op("aten::mm", 10, 10);
  builder.op("aten::mm", 80, 20);
  EXPECT_EQ(TraceIndex(builder.trace).window(), (Span{10, 100}));
}

TraceBuilder two_steps(std::int64_t first_start, std::int64_t second_end) {
  TraceBuilder builder;
  builder.step(1, 1000, 1000);
  builder.step(2, 2000, 1000);
  launched(builder, 1, 1100, first_start, 100);
  launched(builder, 2, 2100, second_end - 100, 100);
  return builder;
}

TEST(DeviceWindows, GoOnToTheEndOfWhatWasLaunched) {
  EXPECT_THAT(TraceIndex(two_steps(1110, 2300).trace).device_windows().by_device,
              ElementsAre(Span{1000, 3000}));
  TraceBuilder builder = two_steps(1110, 9000);
  EXPECT_THAT(TraceIndex(builder.trace).device_windows().by_device, ElementsAre(Span{1000, 9000}));
  launched(builder, 3, 3500, 9500, 100);  // after the steps
  EXPECT_THAT(TraceIndex(builder.trace).device_windows().by_device, ElementsAre(Span{1000, 9000}));
}

TEST(DeviceWindows, LastAsLongAsTheStepsOrAsTheirWork) {
  EXPECT_EQ(TraceIndex(two_steps(1110, 2300).trace).device_windows().length_ns, 2000);
  EXPECT_EQ(TraceIndex(two_steps(1800, 3500).trace).device_windows().length_ns, 2000);
  EXPECT_EQ(TraceIndex(two_steps(1110, 9000).trace).device_windows().length_ns, 7890);
}

TEST(DeviceWindows, OfADeviceThatIsBehindBeginWithItsOwnWork) {
  TraceBuilder builder = two_steps(4000, 9000);
  launched(builder, 3, 100, 200, 3700);  // before the steps
  EXPECT_THAT(TraceIndex(builder.trace).device_windows().by_device, ElementsAre(Span{4000, 9000}));
}

TEST(StepSet, TakesTheProfilersStepsBeforeAllOthers) {
  TraceBuilder builder;
  many_launches(builder, 30, 100);
  for (int i = 0; i < 3; ++i) {
    builder.annotation("execute_context_0(0)_generation_8(8)", 1000 * i, 990);
    builder.annotation("iteration", 1000 * i, 990);
  }
  EXPECT_EQ(step_set(builder.trace).source, StepSource::kExecute);
  builder.annotation("step_num#4", 0, 1500);
  builder.annotation("step_num#5", 1500, 1500);
  EXPECT_EQ(step_set(builder.trace).source, StepSource::kStepNum);
  EXPECT_THAT(step_numbers(step_set(builder.trace)), ElementsAre(4, 5));
  builder.step(7, 0, 3000);
  EXPECT_EQ(step_set(builder.trace).source, StepSource::kProfilerStep);
  EXPECT_THAT(step_numbers(step_set(builder.trace)), ElementsAre(7));
}

TEST(StepSet, RangesThatRepeatAreStepsByTheirNumbers) {
  TraceBuilder builder;
  many_launches(builder, 40, 100);
  for (int i = 0; i < 4; ++i) builder.annotation("iteration " + std::to_string(12 + i), 1000 * i, 950);
  EXPECT_EQ(step_set(builder.trace).source, StepSource::kAnnotation);
  builder.trace.writer = Writer::kNsight;
  const StepSet set = step_set(builder.trace);
  EXPECT_EQ(set.source, StepSource::kNvtx);
  EXPECT_EQ(set.name, "iteration #");
  EXPECT_THAT(step_numbers(set), ElementsAre(12, 13, 14, 15));
  EXPECT_THAT(run_analysis("findings", builder.trace).notes, Contains(HasSubstr("4 NVTX ranges")));
  EXPECT_THAT(run_analysis("steps", builder.trace).notes, Contains(HasSubstr("4 NVTX ranges")));
  EXPECT_EQ(headline(run_analysis("steps", builder.trace), "steps"), 4);
}

TEST(StepSet, AnnotationsOfOneNameAreNumberedInOrder) {
  TraceBuilder builder;
  many_launches(builder, 30, 100);
  for (const std::int64_t at : {2000, 0, 1000}) builder.annotation("step[DECODE bs=31]", at, 950);
  const StepSet set = step_set(builder.trace);
  EXPECT_THAT(step_numbers(set), ElementsAre(0, 1, 2));
  EXPECT_EQ(set.steps[2].start_ns, 2000);
}

TEST(StepSet, OfNestedAnnotationsTakesTheOuterOnes) {
  TraceBuilder builder;
  many_launches(builder, 30, 100);
  for (int i = 0; i < 3; ++i) {
    builder.annotation("train", 1000 * i, 980);
    builder.annotation("forward", 1000 * i + 10, 900);
  }
  EXPECT_EQ(step_set(builder.trace).name, "train");
}

TEST(StepSet, WhatIsNoStep) {
  const auto source_with = [](auto&& add) {
    TraceBuilder builder;
    many_launches(builder, 30, 100);
    add(builder);
    return step_set(builder.trace).source;
  };
  EXPECT_EQ(source_with([](TraceBuilder& builder) {  // twice
              for (int i = 0; i < 2; ++i) builder.annotation("iteration", 1500 * i, 1400);
            }),
            StepSource::kNoSteps);
  EXPECT_EQ(source_with([](TraceBuilder& builder) {  // half of the time
              for (int i = 0; i < 3; ++i) builder.annotation("forward", 1000 * i, 500);
            }),
            StepSource::kNoSteps);
  EXPECT_EQ(source_with([](TraceBuilder& builder) {  // one within the other
              for (int i = 0; i < 3; ++i) builder.annotation("layer", 10 * i, 2900 - 20 * i);
            }),
            StepSource::kNoSteps);
  EXPECT_EQ(source_with([](TraceBuilder& builder) {  // three threads
              for (int i = 0; i < 3; ++i)
                builder.annotation("iteration", 1000 * i, 990, -1, std::to_string(i + 1));
            }),
            StepSource::kNoSteps);
  EXPECT_EQ(source_with([](TraceBuilder& builder) {
              for (int i = 0; i < 3; ++i)
                builder.annotation("enumerate(DataLoader)#_X.__next__", 1000 * i, 990);
            }),
            StepSource::kNoSteps);
  EXPECT_EQ(source_with([](TraceBuilder& builder) {
              for (int i = 0; i < 3; ++i) builder.annotation("iteration", 1000 * i, 990);
            }),
            StepSource::kAnnotation);
}

TEST(StepSet, AreThoseOfOneProcess) {
  TraceBuilder builder;
  many_launches(builder, 20, 100);
  for (const char* pid : {"1000", "1100", "1200"}) {
    for (int i = 0; i < 2; ++i)
      builder.event(Category::kUserAnnotation, "ProfilerStep#" + std::to_string(i), 1000 * i, 900,
                    builder.thread(pid, pid));
  }
  EXPECT_THAT(step_numbers(step_set(builder.trace)), ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(FindingSearch(TraceIndex(builder.trace)).step_count(), 2);
}

TraceBuilder dropped_kernels(std::int64_t without) {
  TraceBuilder builder;
  for (int i = 0; i < 4; ++i) builder.step(i, 1000 * i, 1000);
  for (std::int64_t i = 0; i < 40; ++i) {
    if (i < without) {
      builder.runtime("cudaLaunchKernel", 100 * i, 5, i + 1);
    } else {
      launched(builder, i + 1, 100 * i, 100 * i + 20, 50);
    }
  }
  return builder;
}

TEST(WholeSteps, AreThoseWhoseLaunchesHaveWork) {
  const TraceBuilder builder = dropped_kernels(13);
  const TraceIndex index(builder.trace);
  EXPECT_THAT(index.steps().is_whole, ElementsAre(false, false, true, true));
  ASSERT_EQ(index.steps().measured().size(), 2U);
  EXPECT_EQ(index.steps().measured()[0].number, 2);
  EXPECT_EQ(index.window(), (Span{2000, 4000}));
  EXPECT_DOUBLE_EQ(FindingSearch(index).step_ns(), 1000);
}

TEST(WholeSteps, AllCountIfNoneIsWhole) {
  const TraceBuilder builder = dropped_kernels(40);
  EXPECT_EQ(TraceIndex(builder.trace).steps().measured().size(), 4U);
}

TEST(WholeSteps, WithoutLaunchesAllAre) {
  TraceBuilder builder;
  builder.step(0, 0, 1000);
  builder.step(1, 1000, 1000);
  builder.kernel("gemm", 100, 100);
  EXPECT_THAT(TraceIndex(builder.trace).steps().is_whole, ElementsAre(true, true));
}

TEST(WholeSteps, CallsThatLaunchNothingDoNotCount) {
  TraceBuilder builder = dropped_kernels(0);
  for (int i = 0; i < 9; ++i) {
    builder.runtime("cudaEventRecord", 10 + i, 1, 1000 + i);
    builder.runtime("cudaLaunchHostFunc", 30 + i, 1, 2000 + i);
  }
  EXPECT_THAT(TraceIndex(builder.trace).steps().is_whole, ElementsAre(true, true, true, true));
}

TraceBuilder device_behind() {
  TraceBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.step(i, 18'500 * i, 18'000);
    launched(builder, i + 1, 18'500 * i + 60, 185'050 + 18'000 * i, 17'400);
  }
  builder.runtime("cudaDeviceSynchronize", 185'010, 180'050);
  return builder;
}

TEST(DeviceBehind, AStepIsAsLongAsTheHostsOrTheDevices) {
  TraceBuilder builder = device_behind();
  EXPECT_DOUBLE_EQ(FindingSearch(TraceIndex(builder.trace)).step_ns(), 18'450);
  TraceBuilder slow;
  for (int i = 0; i < 10; ++i) {
    slow.step(i, 18'500 * i, 18'000);
    launched(slow, i + 1, 18'500 * i + 60, 185'050 + 36'000 * i, 36'000);
  }
  EXPECT_DOUBLE_EQ(FindingSearch(TraceIndex(slow.trace)).step_ns(), 36'000);
}

TEST(DeviceBehind, NothingIsSaidOfItsTimeInAStep) {
  const TraceBuilder builder = device_behind();
  EXPECT_TRUE(step_set(builder.trace).is_device_behind());
  const AnalysisResult steps = run_analysis("steps", builder.trace);
  EXPECT_THAT(steps.notes, Contains(HasSubstr("10 of 10 GPU events")));
  EXPECT_EQ(cell(table_of(steps, "steps"), 0, "busy_ns"), Cell{});
  EXPECT_EQ(integer(table_of(steps, "steps"), 0, "wall_ns"), 18'000);
  EXPECT_THROW(headline(steps, "step_utilization"), std::invalid_argument);
  const AnalysisResult utilization = run_analysis("utilization", builder.trace);
  EXPECT_FALSE(has_table(utilization, "within_steps"));
  EXPECT_THAT(utilization.notes, Contains(HasSubstr("10 of 10 GPU events")));
  EXPECT_THAT(run_analysis("efficiency", builder.trace).notes, Contains(HasSubstr("10 of 10 GPU events")));
}

TEST(DeviceBehind, ABusyDeviceIsNot) {
  TraceBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.step(i, 1000 * i, 1000);
    launched(builder, i + 1, 1000 * i, 2500 * i + 20, 2500);
  }
  launched(builder, 5, 3500, 10'100, 100);
  EXPECT_FALSE(step_set(builder.trace).is_device_behind());
  EXPECT_GT(headline(run_analysis("steps", builder.trace), "step_utilization"), 0.9);
}

TEST(DeviceBehind, ALittleIsUsual) {
  TraceBuilder builder;
  for (int i = 0; i < 4; ++i) builder.step(i, 1000 * i, 1000);
  many_launches(builder, 40, 100, 150);
  EXPECT_FALSE(step_set(builder.trace).is_device_behind());
  EXPECT_TRUE(has_table(run_analysis("utilization", builder.trace), "within_steps"));
}

}  // namespace
}  // namespace headroom::trace
