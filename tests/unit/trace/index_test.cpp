// SPDX-License-Identifier: Apache-2.0
#include "analysis_run.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/index/trace_trust.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom::trace {
namespace {

void launched(TraceBuilder& builder, std::int64_t correlation, std::int64_t call_ns, std::int64_t start_ns,
              std::int64_t duration_ns, std::int32_t device = 0) {
  builder.launch(call_ns, 5, "gemm", start_ns, duration_ns, correlation, device);
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

using Window = BuiltTrace;

TEST_F(Window, IsThatOfTheSteps) {
  builder.op("aten::mm", 0, 10);
  builder.step(1, 1000, 1000);
  builder.step(2, 2000, 900);
  many_launches(builder, 20, 100, 1000);
  const Span window = TraceIndex(builder.trace).window();
  EXPECT_EQ(std::tuple(window.start, window.end), std::tuple(1000, 2900));
}

TEST_F(Window, WithoutStepsIsThatOfTheDevices) {
  many_launches(builder, 10, 100, 50'000);
  const Span alone = TraceIndex(builder.trace).window();
  EXPECT_EQ(std::tuple(alone.start, alone.end), std::tuple(50'000, 50'970));
  builder.python("torch/profiler/profiler.py(201): start_trace", 0, 49'990);
  builder.runtime("cudaDeviceSynchronize", 60'000, 10);
  builder.op("aten::to", 70'000, 100);
  EXPECT_EQ(TraceIndex(builder.trace).window(), alone);
}

TEST_F(Window, DoesNotBeginWithALaunchThatWaitedForLong) {
  launched(builder, 1, 0, 40'000, 50);
  many_launches(builder, 10, 100, 40'100);
  EXPECT_EQ(TraceIndex(builder.trace).window().start, 40'000 - 20);
}

TEST_F(Window, DoesNotBeginWithAQueueWhoseWorkIsNotInTheFile) {
  for (int i = 0; i < 10; ++i) launched(builder, i + 1, 1000 * i, 8'000'000 + 1000 * i, 900);
  EXPECT_EQ(TraceIndex(builder.trace).window().start, 8'000'000 - 100'005);
}

TEST_F(Window, WithoutLaunchesBeginsWithTheFirstWork) {
  builder.op("aten::mm", 0, 10);
  builder.kernel("gemm", 500, 100);
  builder.kernel("gemm", 700, 100);
  EXPECT_EQ(TraceIndex(builder.trace).window(), (Span{500, 800}));
}

TEST_F(Window, OfAHostAloneIsTheWholeTrace) {
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
  EXPECT_EQ(std::tuple(set.source, set.name), std::tuple(StepSource::kNvtx, "iteration #"));
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

using DeviceBehind = BuiltTrace;

TEST_F(DeviceBehind, AStepIsAsLongAsTheHostsOrTheDevices) {
  builder = device_behind();
  EXPECT_DOUBLE_EQ(FindingSearch(TraceIndex(builder.trace)).step_ns(), 18'450);
  TraceBuilder slow;
  for (int i = 0; i < 10; ++i) {
    slow.step(i, 18'500 * i, 18'000);
    launched(slow, i + 1, 18'500 * i + 60, 185'050 + 36'000 * i, 36'000);
  }
  EXPECT_DOUBLE_EQ(FindingSearch(TraceIndex(slow.trace)).step_ns(), 36'000);
}

TEST_F(DeviceBehind, NothingIsSaidOfItsTimeInAStep) {
  builder = device_behind();
  EXPECT_TRUE(step_set(builder.trace).is_device_behind());
  const AnalysisResult steps = run("steps");
  EXPECT_THAT(steps.notes, Contains(HasSubstr("10 of 10 GPU events")));
  expect_row(steps, "steps", 0, {{"busy_ns", Cell{}}, {"wall_ns", 18'000}});
  EXPECT_THROW(headline(steps, "step_utilization"), std::invalid_argument);
  const AnalysisResult utilization = run("utilization");
  EXPECT_FALSE(has_table(utilization, "within_steps"));
  EXPECT_THAT(utilization.notes, Contains(HasSubstr("10 of 10 GPU events")));
  EXPECT_THAT(run("efficiency").notes, Contains(HasSubstr("10 of 10 GPU events")));
}

TEST_F(DeviceBehind, ABusyDeviceIsNot) {
  for (int i = 0; i < 4; ++i) {
    builder.step(i, 1000 * i, 1000);
    launched(builder, i + 1, 1000 * i, 2500 * i + 20, 2500);
  }
  launched(builder, 5, 3500, 10'100, 100);
  EXPECT_FALSE(step_set(builder.trace).is_device_behind());
  EXPECT_GT(headline(run("steps"), "step_utilization"), 0.9);
}

TEST_F(DeviceBehind, ALittleIsUsual) {
  for (int i = 0; i < 4; ++i) builder.step(i, 1000 * i, 1000);
  many_launches(builder, 40, 100, 150);
  EXPECT_FALSE(step_set(builder.trace).is_device_behind());
  EXPECT_TRUE(has_table(run("utilization"), "within_steps"));
}

constexpr std::int64_t kBegin = 1'700'000'000'000 * kMs;

TraceBuilder healthy(int steps = 3) {
  TraceBuilder builder;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t at = kBegin + step * 10 * kMs;
    builder.step(step, at, 10 * kMs);
    for (int i = 0; i < 20; ++i) {
      const std::int64_t launch = at + i * 20 * kUs, correlation = step * 100 + i + 1;
      builder.op("aten::mm", launch, 15 * kUs);
      builder.launch(launch + 2 * kUs, 10 * kUs, i % 2 == 0 ? "gemm" : "add", at + i * 490 * kUs + 100 * kUs,
                     480 * kUs, correlation);
    }
  }
  return builder;
}

AnalysisResult analyzed_trace(const Trace& trace, const std::string& name = "summary") {
  return analyze_trace(trace, *find_analysis(name), {});
}

TEST(Trust, AHealthyTraceIsNotDoubted) {
  EXPECT_THAT(analyzed_trace(healthy().trace).doubts, IsEmpty());
  TraceBuilder builder = healthy();
  builder.kernel("gemm", kBegin + 100 * kUs, 20 * kMs, kNoCorrelation, 0, 8);
  builder.kernel("nccl", kBegin + 40 * kMs, 900 * kMs);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts, IsEmpty());
}

TEST(Trust, WorkThatOverrunsItsStreamIsLeftOutOfAllFigures) {
  const AnalysisResult clean = analyzed_trace(healthy().trace);
  TraceBuilder builder = healthy();
  builder.trace.events.duration_ns[builder.trace.gpu[25].event] = 3'400 * kMs;
  for (const char* const name : {"summary", "utilization", "kernels", "findings", "steps", "idle"}) {
    EXPECT_THAT(analyzed_trace(builder.trace, name).doubts,
                ElementsAre(HasSubstr("1 impossible duration left out (3.40 s of 'add'")))
        << name;
  }
  const AnalysisResult result = analyzed_trace(builder.trace);
  EXPECT_DOUBLE_EQ(headline(result, "span_ns"), headline(clean, "span_ns"));
  EXPECT_DOUBLE_EQ(headline(result, "busy_ns"), headline(clean, "busy_ns") - 480e3);
  EXPECT_GT(headline(analyzed_trace(builder.trace, "validate"), "anomalies"), 0);
  EXPECT_THAT(analyzed_trace(builder.trace, "validate").doubts, IsEmpty());
}

TEST(Trust, ADiffLeavesThemOutToo) {
  TraceBuilder builder = healthy();
  builder.trace.events.duration_ns[builder.trace.gpu[25].event] = 3'400 * kMs;
  const TraceProfile clean = profile_of(healthy().trace), profile = profile_of(builder.trace);
  EXPECT_EQ(profile.kernels.at("add").total_ns, clean.kernels.at("add").total_ns - 480 * kUs);
  EXPECT_THAT(diff(clean, profile).doubts, ElementsAre(HasSubstr("B: 1 impossible duration left out")));
  EXPECT_THAT(diff(clean, clean).doubts, IsEmpty());
}

TEST(Trust, TimesFarFromTheRestAreLeftOut) {
  TraceBuilder builder = healthy();
  for (int i = 0; i < 4; ++i) {
    builder.trace.events.start_ns[builder.trace.gpu[30 + i].event] = 0;
    builder.trace.events.duration_ns[builder.trace.gpu[30 + i].event] = 0;
  }
  const AnalysisResult result = analyzed_trace(builder.trace);
  EXPECT_THAT(result.doubts, Contains(HasSubstr("4 events left out, with times of another clock")));
  EXPECT_LT(headline(result, "span_ns"), 31e6);
  // Late ones as well.
  builder.trace.events.start_ns[builder.trace.gpu[40].event] = 2 * kBegin;
  EXPECT_THAT(analyzed_trace(builder.trace).doubts, Contains(HasSubstr("5 events left out")));
}

TEST(Trust, LaunchesWithoutWorkAreSaidWithTheirSteps) {
  TraceBuilder builder = healthy();
  for (int i = 0; i < 10; ++i) builder.runtime("cudaGraphLaunch", kBegin + 9 * kMs + i * kUs, 500, 900 + i);
  EXPECT_THAT(
      analyzed_trace(builder.trace).doubts,
      ElementsAre(
          HasSubstr(
              "10 of 70 launches have no work in the file: idle time unknown (first: 'cudaGraphLaunch')"),
          "1 of 3 steps lack work that they launch and are left out of figures per step"));
  // A few at the end are usual.
  TraceBuilder few = healthy();
  for (int i = 0; i < 2; ++i) few.runtime("cudaGraphLaunch", kBegin + 29 * kMs + i * kUs, 500, 900 + i);
  EXPECT_EQ(analyzed_trace(few.trace).doubts.size(), 1U);
}

TEST(Trust, WhereEveryStepLacksWorkIdleTimeHasNoCause) {
  TraceBuilder builder = healthy();
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 10; ++i)
      builder.runtime("cudaGraphLaunch", kBegin + step * 10 * kMs + 9 * kMs + i * kUs, 500,
                      900 + step * 10 + i);
  }
  const AnalysisResult result = analyzed_trace(builder.trace);
  EXPECT_THAT(result.standing, Contains(HasSubstr("work launched by the steps is not in the file")));
  EXPECT_THAT(result.answer, IsEmpty());
}

TEST(Trust, WorkWithoutLaunchesIsSaidInAFileWithLaunches) {
  TraceBuilder builder = healthy();
  for (int i = 0; i < 10; ++i) builder.kernel("late", kBegin + 31 * kMs + i * kMs, 500 * kUs, 900 + i);
  builder.step(3, kBegin + 30 * kMs, 15 * kMs);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts,
              ElementsAre(HasSubstr("10 of 70 GPU events have no recorded launch")));
}

TEST(Trust, FunctionsOfPythonThatCrossAreSaid) {
  TraceBuilder builder = healthy();
  builder.python("train.py(20): run", kBegin, 50 * kUs);
  builder.python("train.py(30): inside", kBegin + 10 * kUs, 20 * kUs);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts, IsEmpty());
  builder.python("train.py(40): crosses", kBegin + 40 * kUs, 20 * kUs);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts,
              ElementsAre(HasSubstr("1 of 3 Python functions end after their caller: lines may be wrong "
                                    "(first: 'train.py(40): crosses')")));
}

TEST(Trust, LaunchesWithoutADeviceAreSaid) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", kBegin, kUs, 1);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts, ElementsAre("1 launches but no GPU work in the file"));
}

TEST(Trust, StandsAboveTheAnswer) {
  TraceReport report;
  report.analysis = "findings";
  report.result.doubts = {"a", "b"};
  report.result.standing = {"step"};
  report.result.answer = {"answer"};
  EXPECT_THAT(trace_answer(report), ElementsAre("warning: a; b", "step", "answer"));
}

TEST(Trust, OfRanksWhatAllHaveIsSaidOnce) {
  std::vector<RankResult> ranks(2);
  ranks[1].rank = 1;
  ranks[0].result.doubts = {"both"};
  ranks[1].result.doubts = {"both", "one"};
  EXPECT_THAT(combined(ranks, *find_analysis("kernels"), {}).doubts, ElementsAre("both", "rank 1: one"));
}

TEST(Subset, KeepsWhatBelongsToItsEvents) {
  const TraceBuilder builder = healthy(1);
  std::vector<bool> is_kept(builder.trace.events.size(), true);
  is_kept[builder.trace.gpu[3].event] = false;
  const Trace kept = subset(builder.trace, is_kept);
  ASSERT_EQ(kept.gpu.size(), builder.trace.gpu.size() - 1);
  EXPECT_EQ(kept.events_seen, builder.trace.events_seen - 1);
  for (std::uint32_t row = 0; row < kept.gpu.size(); ++row)
    EXPECT_EQ(kept.events.detail[kept.gpu[row].event], row);
  EXPECT_EQ(kept.ops.size(), builder.trace.ops.size());
}

}  // namespace
}  // namespace headroom::trace
