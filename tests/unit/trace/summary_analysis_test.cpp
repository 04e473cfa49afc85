// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "analysis_run.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(SummaryAnalysis, NeedsNothingButTheGpuWork) {
  EXPECT_EQ(find_analysis("summary")->needs, Needs::kGpuWork);
}

TEST(SummaryAnalysis, FiguresOfASmallTrace) {
  TraceBuilder builder;
  builder.device(0, "H100");
  builder.kernel("sgemm", 0, 60);
  builder.kernel("sgemm", 60, 10);
  builder.kernel("ncclKernel", 65, 20, kNoCorrelation, 0, 20);
  builder.copy(90, 10);
  builder.trace.rank = 3;
  const AnalysisResult result = run_analysis("summary", builder.trace);
  EXPECT_DOUBLE_EQ(headline(result, "utilization"), 0.95);
  EXPECT_DOUBLE_EQ(headline(result, "communication_overlap"), 0.25);
  EXPECT_DOUBLE_EQ(headline(result, "matmul_convolution_share"), 0.7);
  EXPECT_DOUBLE_EQ(headline(result, "span_ns"), 100);
  const DataTable& kernels = table_of(result, "kernels");
  EXPECT_EQ(text(kernels, 0, "name"), "sgemm");
  EXPECT_EQ(integer(kernels, 0, "count"), 2);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "share"), 0.7);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "mean_ns"), 35);
  EXPECT_EQ(integer(table_of(result, "communication"), 0, "overlapped_ns"), 5);
  EXPECT_EQ(integer(table_of(result, "trace"), 0, "rank"), 3);
  EXPECT_THAT(result.notes, Contains(HasSubstr("communication that hides behind no computing takes 15.0 %")));
}

TEST(SummaryAnalysis, SaysNoCommunicationRatherThanNothing) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  const AnalysisResult result = run_analysis("summary", builder.trace);
  EXPECT_THAT(result.notes, Contains("no communication"));
  EXPECT_FALSE(has_table(result, "communication"));
}

TEST(SummaryAnalysis, LeavesOutOtherKernelsThanTheTop) {
  TraceBuilder builder;
  for (int i = 0; i < 30; ++i) builder.kernel("kernel" + std::to_string(i), 100 * i, 10 + i);
  const AnalysisResult result = run_analysis("summary", builder.trace, {}, 7);
  const DataTable& kernels = table_of(result, "kernels");
  ASSERT_EQ(kernels.rows.size(), 7U);
  EXPECT_EQ(text(kernels, 0, "name"), "kernel29");
}

TEST(SummaryAnalysis, AnUnfinishedFileAndProblemsAreSaidFirst) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.trace.is_complete = false;
  builder.trace.problems = {3, 2, {{77, "ts is not a number"}}};
  const AnalysisResult result = run_analysis("summary", builder.trace);
  EXPECT_THAT(result.notes.front(), HasSubstr("ends before its JSON does"));
  EXPECT_THAT(result.notes.front(), HasSubstr("byte 77: ts is not a number"));
}

TEST(SummaryAnalysis, ATraceWithoutGpuWorkStillSaysWhatItIs) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  const AnalysisResult result = run_analysis("summary", builder.trace);
  EXPECT_EQ(integer(table_of(result, "trace"), 0, "events"), 1);
  EXPECT_THAT(result.notes, Contains(HasSubstr("no kernel, copy or set")));
}

/// 200 kernels, each `duration` long and `gap` after the one before.
TraceBuilder regular(std::int64_t duration, std::int64_t gap) {
  TraceBuilder builder;
  for (int i = 0; i < 200; ++i) builder.kernel("k", i * (duration + gap), duration);
  return builder;
}

TEST(Advice, ALowUtilizationAndWhatTheGapsLookLike) {
  const AnalysisResult host = run_analysis("summary", regular(10'000, 20'000).trace);
  EXPECT_THAT(host.notes, Contains(HasSubstr("works 33.4 % of the time, less than 50.0 %")));
  EXPECT_THAT(host.notes, Contains(HasSubstr("the host launches too slowly")));
  const AnalysisResult input = run_analysis("summary", regular(1'000'000, 2'000'000).trace);
  EXPECT_THAT(input.notes, Contains(HasSubstr("waits for input")));
  const AnalysisResult busy = run_analysis("summary", regular(10'000, 1'000).trace);
  EXPECT_THAT(busy.notes, Not(Contains(HasSubstr("of the time, less than"))));
  EXPECT_THAT(busy.notes, Not(Contains(HasSubstr("idle time"))));
}

TEST(Advice, TinyKernels) {
  EXPECT_THAT(run_analysis("summary", regular(4'999, 0).trace).notes,
              Contains(HasSubstr("200 of 200 kernels run")));
  EXPECT_THAT(run_analysis("summary", regular(5'000, 0).trace).notes,
              Not(Contains(HasSubstr("kernels run"))));
}

TEST(Advice, DataLoading) {
  TraceBuilder builder;
  builder.step(1, 0, 1000);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 51);
  builder.kernel("a", 0, 1000);
  EXPECT_THAT(run_analysis("summary", builder.trace).notes,
              Contains(HasSubstr("the DataLoader takes 5.10 % of the steps' time")));
  builder.trace.events.duration_ns[1] = 50;
  EXPECT_THAT(run_analysis("summary", builder.trace).notes, Not(Contains(HasSubstr("DataLoader"))));
}

TEST(Advice, FullMemory) {
  TraceBuilder builder;
  builder.device(0, "V100").total_memory_bytes = 1000;
  builder.kernel("a", 0, 1000);
  builder.trace.memory.push_back({0, 1, 0, 100, 1, 500, 901});
  EXPECT_THAT(run_analysis("summary", builder.trace).notes,
              Contains(HasSubstr("device 0 held 90.1 % of its memory")));
  builder.trace.memory[0].total_reserved = 900;
  EXPECT_THAT(run_analysis("summary", builder.trace).notes, Not(Contains(HasSubstr("memory at the peak"))));
}

}  // namespace
}  // namespace headroom::trace
