// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "analysis_run.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::Contains;
using testing::HasSubstr;

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

TEST(SummaryAnalysis, BeginsWithTheFindings) {
  TraceBuilder builder;
  builder.step(1, 0, 2'000'000);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 900'000);
  builder.runtime("cudaLaunchKernel", 950'000, 10'000, 1);
  builder.kernel("a", 1'000'000, 1'000'000, 1);
  const AnalysisResult result = run_analysis("summary", builder.trace);
  EXPECT_EQ(result.tables.front().key, "findings");
  EXPECT_EQ(text(result.tables.front(), 0, "kind"), "data_loading");
  EXPECT_DOUBLE_EQ(number(result.tables.front(), 0, "recoverable_ns"), 900'000);
  EXPECT_THAT(result.answer.front(), HasSubstr("1. data_loading: 900 µs of 2.00 ms a step (45.0 %)"));
}

TEST(SummaryAnalysis, SaysWhereIdleTimeHasNoLaunchToExplainIt) {
  TraceBuilder builder;
  for (int i = 0; i < 200; ++i) builder.kernel("k", i * 30'000, 10'000);
  EXPECT_THAT(run_analysis("summary", builder.trace).notes, Contains(HasSubstr("nothing to do for 66.")));
}

TEST(SummaryAnalysis, OfALargeTraceTheHostIsNotReadAndThatIsSaid) {
  EXPECT_EQ(find_analysis("summary")->needs_of_large, Needs::kGpuWork);
  TraceBuilder builder;
  builder.kernel("a", 0, 100);
  builder.trace.json_bytes = kLargeTrace + 1;
  const AnalysisResult large = run_analysis("summary", builder.trace);
  EXPECT_FALSE(has_table(large, "findings"));
  EXPECT_THAT(large.answer.front(), HasSubstr("`headroom trace findings`"));
  // Several ranks of which one is large have what all of them have.
  const std::vector<RankResult> ranks{{"a", 0, large}, {"b", 1, large}};
  EXPECT_FALSE(has_table(find_analysis("summary")->combine(ranks, {}), "findings"));
  // A packed file that is smaller than was feared had its host read.
  builder.runtime("cudaLaunchKernel", 0, 1, 1);
  EXPECT_TRUE(has_table(run_analysis("summary", builder.trace), "findings"));
}

}  // namespace
}  // namespace headroom::trace
