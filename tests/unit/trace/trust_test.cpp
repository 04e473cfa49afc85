// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom_trace/columns/subset.h"
#include "headroom_trace/index/trace_trust.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/report/trace_report.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMs = 1'000'000, kUs = 1'000;
constexpr std::int64_t kBegin = 1'700'000'000'000 * kMs;

TraceBuilder healthy(int steps = 3) {
  TraceBuilder builder;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t at = kBegin + step * 10 * kMs;
    builder.step(step, at, 10 * kMs);
    for (int i = 0; i < 20; ++i) {
      const std::int64_t launch = at + i * 20 * kUs, correlation = step * 100 + i + 1;
      builder.op("aten::mm", launch, 15 * kUs);
      builder.runtime("cudaLaunchKernel", launch + 2 * kUs, 10 * kUs, correlation);
      builder.kernel(i % 2 == 0 ? "gemm" : "add", at + i * 490 * kUs + 100 * kUs, 480 * kUs, correlation);
    }
  }
  return builder;
}

AnalysisResult analyzed_trace(const Trace& trace, const std::string& name = "summary") {
  return analyze_trace(trace, *find_analysis(name), {});
}

double value(const AnalysisResult& result, const std::string& metric) {
  for (const Headline& headline : result.headlines) {
    if (headline.metric == metric) return headline.value;
  }
  throw std::invalid_argument("no headline " + metric);
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
  EXPECT_DOUBLE_EQ(value(result, "span_ns"), value(clean, "span_ns"));
  EXPECT_DOUBLE_EQ(value(result, "busy_ns"), value(clean, "busy_ns") - 480e3);
  EXPECT_GT(value(analyzed_trace(builder.trace, "validate"), "anomalies"), 0);
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
  EXPECT_LT(value(result, "span_ns"), 31e6);
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
  const std::uint32_t thread = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kPython, "train.py(20): run", kBegin, 50 * kUs, thread);
  builder.event(Category::kPython, "train.py(30): inside", kBegin + 10 * kUs, 20 * kUs, thread);
  EXPECT_THAT(analyzed_trace(builder.trace).doubts, IsEmpty());
  builder.event(Category::kPython, "train.py(40): crosses", kBegin + 40 * kUs, 20 * kUs, thread);
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
