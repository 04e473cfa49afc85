// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "analysis_run.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/index/steps.h"

namespace headroom::trace {
namespace {

TEST(Steps, InOrderWithTheLastOne) {
  TraceBuilder builder;
  builder.step(8, 200, 100);
  builder.step(7, 100, 100);
  builder.annotation("ProfilerStep", 0, 10);
  builder.event(Category::kGpuAnnotation, "ProfilerStep#7", 150, 100, builder.thread("0", "7"));
  const std::vector<Step> found = step_set(builder.trace).steps;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].number, 7);
  EXPECT_EQ(std::tuple(found[1].number, found[1].end_ns), std::tuple(8, 300));
}

// Older Kineto wrote annotations as operators.
TEST(Steps, OfAnOldFileWithoutAskingForItsOperators) {
  const Trace trace = read_text(R"({"traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 1, "tid": "1", "ts": 100, "dur": 50, "args": {}},
    {"ph": "X", "cat": "Operator", "name": "enumerate(DataLoader)#_X.__next__", "pid": 1, "tid": "1", "ts": 100, "dur": 5},
    {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 1, "tid": "1", "ts": 110, "dur": 5}]})",
                                "old.json", only(Needs::kGpuWork));
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events_skipped_by_need, 1U);
  const std::vector<Step> found = step_set(trace).steps;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].number, 5);
}

/// Each part overlaps the previous one's end.
TraceBuilder every_part() {
  TraceBuilder builder;
  builder.step(1, 0, 100);
  builder.kernel("gemm", -5, 15);                                  // 0..10
  builder.copy(5, 15);                                             // ..20
  builder.set(15, 15);                                             // ..30
  builder.kernel("ncclKernel", 25, 15, kNoCorrelation, 0, 20);     // ..40
  builder.runtime("cudaLaunchKernel", 35, 15);                     // ..50
  builder.annotation("enumerate(DataLoader)#x.__next__", 45, 15);  // ..60
  builder.op("aten::mm", 55, 15);                                  // ..70, then nothing
  return builder;
}

using StepsAnalysis = BuiltTrace;

TEST_F(StepsAnalysis, EachMomentIsTheFirstOfItsPartsAndAllSumToTheWall) {
  const AnalysisResult result = run_analysis("steps", every_part().trace);
  const DataTable& table = table_of(result, "steps");
  ASSERT_EQ(table.rows.size(), 1U);
  expect_row(table, 0, {{"step", "1"}, {"wall_ns", 100}, {"busy_ns", 40}});
  for (const char* part : {"kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns",
                           "data_loader_ns", "cpu_ns"}) {
    EXPECT_EQ(integer(table, 0, part), 10) << part;
  }
  EXPECT_EQ(integer(table, 0, "other_ns"), 30);
  EXPECT_DOUBLE_EQ(headline(result, "step_utilization"), 0.4);
}

TEST_F(StepsAnalysis, CommunicationOfTheHost) {
  builder.step(1, 0, 100);
  builder.annotation("gloo:all_reduce", 10, 20);
  EXPECT_EQ(integer(run("steps"), "steps", 0, "communication_ns"), 20);
}

TEST_F(StepsAnalysis, WithoutStepsOrDevicesTheWholeFileIsOne) {
  builder.op("aten::mm", 10, 20);
  builder.op("aten::mm", 50, 10);
  const AnalysisResult result = run("steps");
  expect_row(result, "steps", 0, {{"step", "all"}, {"wall_ns", 50}, {"other_ns", 20}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("no steps in the file")));
}

TEST_F(StepsAnalysis, WithoutStepsTheTimeOfTheDevicesIsOne) {
  builder.op("aten::mm", -900, 20);
  builder.launch(10, 20, "a", 50, 10, 1);
  builder.op("aten::mm", 900, 20);
  const AnalysisResult result = run("steps");
  expect_row(result, "steps", 0, {{"step", "all"}, {"wall_ns", 50}, {"other_ns", 20}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("no steps in the file")));
}

TEST_F(StepsAnalysis, SeveralDevicesHaveATableOfTheirOwn) {
  builder.step(1, 0, 100);
  builder.kernel("a", 0, 50);
  builder.kernel("a", 25, 50, kNoCorrelation, 1);
  const AnalysisResult result = run("steps");
  EXPECT_EQ(integer(result, "steps", 0, "busy_ns"), 75);
  const DataTable& devices = table_of(result, "step_devices");
  EXPECT_EQ(integer(devices, row_with(devices, "device", "1"), "busy_ns"), 50);
}

TEST_F(StepsAnalysis, EachStepHasItsCulprits) {
  builder.step(1, 0, 100);
  builder.step(2, 100, 100);
  builder.launch(0, 5, "a", 5, 5, 1);
  builder.annotation("enumerate(DataLoader)#x.__next__", 20, 80);
  builder.annotation("enumerate(DataLoader)#x.__next__", 105, 20);
  builder.python("train.py(9): log", 130, 40);
  builder.launch(180, 5, "a", 190, 10, 2);
  const DataTable culprits = table_of(run("steps"), "step_culprits");
  ASSERT_EQ(culprits.rows.size(), 6U);
  expect_row(culprits, 0, {{"step", "1"}, {"doing", "data loading"}, {"idle_ns", 80}});
  expect_row(culprits, 1, {{"step", "1"}, {"doing", "not recorded"}, {"idle_ns", 10}});
  expect_row(culprits, 2, {{"step", "2"}, {"doing", "program"}, {"idle_ns", 40}});
  EXPECT_EQ(text(culprits, 2, "what"), "train.py(9): log");
  expect_row(culprits, 3, {{"step", "2"}, {"doing", "data loading"}, {"idle_ns", 20}});
  EXPECT_EQ(integer(culprits, 3, "longest_ns"), 20);
  expect_row(culprits, 4, {{"step", "2"}, {"doing", "not recorded"}, {"idle_ns", 20}});
  expect_row(culprits, 5, {{"step", "2"}, {"doing", "others"}, {"idle_ns", 10}});  // the launch
  EXPECT_DOUBLE_EQ(number(culprits, 2, "share"), 40.0 / 90);
  const AnalysisResult all = run("steps", {}, 0), idle = run("idle");
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

TEST_F(StepsAnalysis, AnEmptyTraceSaysSo) {
  EXPECT_THAT(run("steps").notes, Contains(HasSubstr("no events")));
}

using SummaryAnalysis = BuiltTrace;

TEST_F(SummaryAnalysis, FiguresOfASmallTrace) {
  builder.device(0, "H100");
  builder.kernel("sgemm", 0, 60);
  builder.kernel("sgemm", 60, 10);
  builder.kernel("ncclKernel", 65, 20, kNoCorrelation, 0, 20);
  builder.copy(90, 10);
  builder.trace.rank = 3;
  const AnalysisResult result = run("summary");
  expect_headlines(result, {{"utilization", 0.95},
                            {"communication_overlap", 0.25},
                            {"matmul_convolution_share", 0.7},
                            {"span_ns", 100}});
  const DataTable& kernels = table_of(result, "kernels");
  expect_row(kernels, 0, {{"name", "sgemm"}, {"count", 2}, {"share", 0.7}, {"mean_ns", 35.0}});
  EXPECT_EQ(integer(result, "communication", 0, "overlapped_ns"), 5);
  EXPECT_EQ(integer(result, "trace", 0, "rank"), 3);
}

TEST_F(SummaryAnalysis, SaysNoCommunicationRatherThanNothing) {
  builder.kernel("a", 0, 100);
  const AnalysisResult result = run("summary");
  EXPECT_THAT(result.notes, Contains("no communication"));
  EXPECT_FALSE(has_table(result, "communication"));
}

TEST_F(SummaryAnalysis, LeavesOutOtherKernelsThanTheTop) {
  for (int i = 0; i < 30; ++i) builder.kernel("kernel" + std::to_string(i), 100 * i, 10 + i);
  const DataTable kernels = table_of(run("summary", {}, 7), "kernels");
  ASSERT_EQ(kernels.rows.size(), 7U);
  EXPECT_EQ(text(kernels, 0, "name"), "kernel29");
}

TEST_F(SummaryAnalysis, AnUnfinishedFileAndProblemsAreSaidFirst) {
  builder.kernel("a", 0, 100);
  builder.trace.is_complete = false;
  builder.trace.problems = {3, 2, {{77, "ts is not a number"}}};
  const AnalysisResult result = run("summary");
  EXPECT_THAT(result.notes.front(), HasSubstr("truncated"));
  EXPECT_THAT(result.notes.front(), HasSubstr("byte 77: ts is not a number"));
}

TEST_F(SummaryAnalysis, ATraceWithoutGpuWorkStillSaysWhatItIs) {
  builder.op("aten::mm", 0, 10);
  const AnalysisResult result = run("summary");
  EXPECT_EQ(integer(result, "trace", 0, "events"), 1);
  EXPECT_THAT(result.notes, Contains(HasSubstr("no GPU work")));
}

TEST_F(SummaryAnalysis, BeginsWithTheFindings) {
  builder.step(1, 0, 2'000'000);
  builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 900'000);
  builder.launch(950'000, 10'000, "a", 1'000'000, 1'000'000, 1);
  const AnalysisResult result = run("summary");
  EXPECT_EQ(result.tables.front().key, "findings");
  expect_row(result.tables.front(), 0, {{"kind", "data_loading"}, {"recoverable_ns", 900'000.0}});
  EXPECT_THAT(result.answer.front(), HasSubstr("1. data_loading: saves 900 µs of 2.00 ms/step (45.0 %)"));
}

TEST_F(SummaryAnalysis, ReadsWhatTheFindingsRead) {
  EXPECT_EQ(find_analysis("summary")->needs, find_analysis("findings")->needs);
}

TEST_F(SummaryAnalysis, SaysWhereIdleTimeHasNoLaunchToExplainIt) {
  for (int i = 0; i < 200; ++i) builder.kernel("k", i * 30'000, 10'000);
  EXPECT_THAT(run("summary").notes, Contains(HasSubstr("GPU idle 66.")));
}

TEST_F(SummaryAnalysis, OfALargeTraceTheHostIsNotReadAndThatIsSaid) {
  EXPECT_EQ(find_analysis("summary")->needs_of_large, Needs::kGpuWork);
  builder.kernel("a", 0, 100);
  builder.trace.json_bytes = kLargeTrace + 1;
  const AnalysisResult large = run("summary");
  EXPECT_FALSE(has_table(large, "findings"));
  EXPECT_THAT(large.answer.front(), HasSubstr("`headroom trace findings`"));
  EXPECT_THAT(large.standing, ElementsAre("trace 100 ns · GPU busy 100 % · exposed communication 0 %"));
  const std::vector<RankResult> ranks{{"a", 0, large}, {"b", 1, large}};
  EXPECT_FALSE(has_table(find_analysis("summary")->combine(ranks, {}), "findings"));
  builder.runtime("cudaLaunchKernel", 0, 1, 1);
  EXPECT_TRUE(has_table(run("summary"), "findings"));
}

RankResult rank(std::int64_t number, double utilization, std::vector<std::string> notes = {}) {
  RankResult rank;
  rank.rank = number;
  rank.source = "rank-" + std::to_string(number) + ".json";
  rank.result.headlines = {{"utilization", Kind::kShare, false, utilization, ""},
                           {"utilization", Kind::kShare, false, 0.99, "0"}};
  rank.result.notes = std::move(notes);
  return rank;
}

Cell text(const char* value) {
  return std::string(value);
}

TEST(CombineHeadlines, GivesARowForEachRankAndTheSpread) {
  std::vector ranks{rank(2, 0.5), rank(0, 0.2), rank(1, 0.3)};
  ranks[1].result.headlines.push_back({"idle_time_ns", Kind::kTimeNs, true, 700, ""});
  const AnalysisResult combined = combine_headlines(ranks);
  ASSERT_EQ(combined.tables.size(), 2U);
  const DataTable& by_rank = combined.tables[0];
  EXPECT_EQ(by_rank.columns.size(), 4U);
  EXPECT_EQ(std::tuple(by_rank.columns[3].kind, by_rank.columns[3].key, by_rank.columns[3].title),
            std::tuple(Kind::kTimeNs, "idle_time_ns", "idle time"));
  EXPECT_THAT(by_rank.rows,
              ElementsAre(ElementsAre(Cell{std::int64_t{0}}, text("rank-0.json"), Cell{0.2}, Cell{700.0}),
                          ElementsAre(Cell{std::int64_t{1}}, text("rank-1.json"), Cell{0.3}, Cell{}),
                          ElementsAre(Cell{std::int64_t{2}}, text("rank-2.json"), Cell{0.5}, Cell{})));
  const DataTable& spread = combined.tables[1];
  EXPECT_EQ(spread.columns[1].kind, Kind::kShare);
  EXPECT_THAT(spread.rows, ElementsAre(ElementsAre(text("min"), Cell{0.2}, Cell{700.0}),
                                       ElementsAre(text("median"), Cell{0.3}, Cell{700.0}),
                                       ElementsAre(text("max"), Cell{0.5}, Cell{700.0})));
}

TEST(CombineHeadlines, GivesTheMedianAsItsOwnHeadline) {
  const AnalysisResult combined = combine_headlines(std::vector{rank(0, 0.1), rank(1, 0.4)});
  ASSERT_EQ(combined.headlines.size(), 1U);
  EXPECT_EQ(combined.headlines[0].metric, "utilization");
  EXPECT_DOUBLE_EQ(combined.headlines[0].value, 0.25);
}

TEST(CombineHeadlines, WhatIsNoNumberIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const AnalysisResult combined = combine_headlines(std::vector{rank(0, nan), rank(1, 0.4)});
  EXPECT_DOUBLE_EQ(combined.headlines.at(0).value, 0.4);
  EXPECT_EQ(combined.tables.at(0).rows.at(0).at(2), Cell{});
  EXPECT_EQ(combine_headlines(std::vector{rank(0, nan)}).tables.size(), 1U);
}

TEST(CombineHeadlines, SaysWhatAllSayOnceAndTheRestByRank) {
  const AnalysisResult combined =
      combine_headlines(std::vector{rank(0, 1, {"no steps", "idle"}), rank(1, 1, {"no steps"})});
  EXPECT_THAT(combined.notes, ElementsAre("no steps", "rank 0: idle"));
}

TEST(CombineHeadlines, KeepsTheNotesReadable) {
  std::vector<RankResult> ranks;
  for (int i = 0; i < 64; ++i) ranks.push_back(rank(i, 0.5, {"idle " + std::to_string(i)}));
  const AnalysisResult combined = combine_headlines(ranks);
  ASSERT_EQ(combined.notes.size(), 21U);
  EXPECT_EQ(combined.notes.back(), "44 more notes on single ranks");
}

}  // namespace
}  // namespace headroom::trace
