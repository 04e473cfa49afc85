// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "headroom/base/error.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/collectives/straggler_search.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

const Analysis& stragglers_analysis() {
  const Analysis* found = find_analysis("stragglers");
  EXPECT_NE(found, nullptr);
  return *found;
}

CollectiveCall call(std::int64_t iteration, std::int64_t stream, const char* kernel, std::int64_t start_ns,
                    std::int64_t duration_ns) {
  CollectiveCall made;
  made.iteration = iteration;
  made.stream = stream;
  made.kernel = kernel;
  made.start_ns = start_ns;
  made.duration_ns = duration_ns;
  return made;
}

/// Two ranks, iterations 5 and 6 of 10,000 ns from 1,000 on.
const std::vector<Iterations> kIterations{{2, 1000, 20'000}, {2, 1000, 20'000}};

TEST(Stragglers, TakesTheLastLongKernelOfEachIterationWithTheLargestSpread) {
  const std::vector<std::vector<CollectiveCall>> ranks{
      {call(5, 7, "reduce", 2000, 500), call(5, 7, "reduce", 4000, 400), call(5, 7, "reduce", 6000, 99),
       call(6, 7, "reduce", 14'000, 300), call(5, 8, "gather", 3000, 1000)},
      {call(5, 7, "reduce", 4100, 300), call(6, 7, "reduce", 14'200, 100), call(5, 8, "gather", 3000, 1010)}};
  const StragglerSearch search = search_stragglers(ranks, kIterations, 0.01);
  EXPECT_DOUBLE_EQ(search.mean_iteration_ns, 10'000);
  EXPECT_EQ(search.origin_ns, 1000);
  ASSERT_EQ(search.candidates.size(), 2U);
  EXPECT_EQ(search.candidates[0].kernel, "reduce");
  EXPECT_EQ(search.candidates[0].iterations, 2);
  // Of two values the sample deviation is |a - b| / sqrt(2): 100 and 200 ns of 10,000.
  EXPECT_NEAR(search.candidates[0].spread, (0.01 + 0.02) / 2 / std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(search.candidates[1].spread, 0.001 / std::sqrt(2.0), 1e-15);
  ASSERT_EQ(search.calls.size(), 4U);
  EXPECT_EQ(search.calls[0].call->start_ns, 4000);  // 99 ns are less than 1 %
  EXPECT_DOUBLE_EQ(search.start_of(search.calls[0]), 0.3);
  EXPECT_EQ(search.calls[1].rank, 1U);
  EXPECT_DOUBLE_EQ(search.start_of(search.calls[3]), 1.32);
}

TEST(Stragglers, AKernelOfOneRankTellsNothing) {
  const std::vector<std::vector<CollectiveCall>> ranks{{call(5, 7, "reduce", 2000, 500)},
                                                       {call(6, 7, "reduce", 14'000, 500)}};
  EXPECT_TRUE(search_stragglers(ranks, kIterations, 0.01).candidates.empty());
  EXPECT_TRUE(search_stragglers({}, {}, 0.01).candidates.empty());
}

TEST(Stragglers, CallsOutsideOfAllStepsDoNotCount) {
  const std::vector<std::vector<CollectiveCall>> ranks{
      {call(5, 7, "reduce", 2000, 500), call(-1, 7, "other", 90'000, 900)},
      {call(5, 7, "reduce", 2100, 400), call(-1, 7, "other", 90'000, 100)}};
  const StragglerSearch search = search_stragglers(ranks, kIterations, 0.01);
  ASSERT_EQ(search.candidates.size(), 1U);
  EXPECT_EQ(search.candidates[0].kernel, "reduce");
}

/// A rank whose all-reduce of each step starts `late_ns` after the others' and ends with them.
TraceBuilder rank_that_is(std::int64_t late_ns) {
  TraceBuilder builder;
  for (const std::int64_t step : {0, 1, 2}) {
    builder.step(step + 3, 10'000 * step, 10'000);
    builder.runtime("cudaLaunchKernel", 10'000 * step + 5000, 10, step + 1);
    builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10'000 * step + 8000 + late_ns, 4000 - late_ns,
                   step + 1);
  }
  return builder;
}

std::vector<RankResult> results_of(const std::vector<const TraceBuilder*>& builders) {
  std::vector<RankResult> ranks;
  for (const TraceBuilder* builder : builders) {
    RankResult& rank = ranks.emplace_back();
    rank.rank = std::ssize(ranks) - 1;
    rank.source = "rank" + std::to_string(rank.rank);
    rank.result = stragglers_analysis().analyze(builder->trace, {});
  }
  return ranks;
}

TEST(Stragglers, NamesTheRankThatIsLate) {
  const TraceBuilder prompt = rank_that_is(0), slow = rank_that_is(1500), other = rank_that_is(100);
  const AnalysisResult result = stragglers_analysis().combine(results_of({&prompt, &slow, &other}), {});
  const DataTable& ranks = result.tables[0];
  ASSERT_EQ(ranks.rows.size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(ranks.rows[0][0]), 1);
  // Had it come with the one before it, all would have begun 1,400 sooner.
  EXPECT_DOUBLE_EQ(std::get<double>(ranks.rows[0][2]), 1400);
  EXPECT_DOUBLE_EQ(std::get<double>(ranks.rows[0][3]), 0);
  EXPECT_EQ(std::get<std::int64_t>(ranks.rows[0][4]), 3);
  EXPECT_EQ(result.headlines[0].value, 1400);
  EXPECT_DOUBLE_EQ(result.headlines[1].value, 0.14);
  EXPECT_EQ(
      result.answer[0].rfind("the others wait 1.40 µs of an iteration of 10.0 µs (14.0 %) for rank 1", 0), 0U)
      << result.answer[0];
  const DataTable& late = result.tables[1];
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][0]), 1);
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][2]), 3);
  // The kernel starts in the step after its launch's: it belongs to that of the launch.
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][3]), (0.95 + 1.95 + 2.95) / 3);
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][4]), 1500);
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][5]), 1500);
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][6]), 3);
}

/// A rank with two all-reduces a step: late to the first by as much as it says, to the second by another.
TraceBuilder rank_with_two(std::int64_t late_ns, std::int64_t late_again_ns) {
  TraceBuilder builder;
  for (const std::int64_t step : {0, 1, 2}) {
    const std::int64_t at = 10'000 * step;
    builder.step(step, at, 10'000);
    builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + late_ns, 3000 - late_ns);
    builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 5000 + late_again_ns, 900 - late_again_ns);
  }
  return builder;
}

TEST(Stragglers, TheFirstWaitOfAStepCountsAlthoughTheRanksHaveMetAgain) {
  const TraceBuilder zero = rank_with_two(0, 40), one = rank_with_two(0, 0), two = rank_with_two(2000, 0);
  const AnalysisResult result = stragglers_analysis().combine(results_of({&zero, &one, &two}), {});
  EXPECT_EQ(std::get<std::int64_t>(result.tables[0].rows[0][0]), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(result.tables[0].rows[0][2]), 2000);
  EXPECT_DOUBLE_EQ(std::get<double>(result.tables[0].rows[1][2]), 40);
}

TEST(Stragglers, AWaitBehindComputingCostsNothing) {
  TraceBuilder prompt = rank_that_is(0);
  const TraceBuilder slow = rank_that_is(1500);
  for (const std::int64_t step : {0, 1, 2}) prompt.kernel("gemm", 10'000 * step + 8000, 4000);
  const AnalysisResult result = stragglers_analysis().combine(results_of({&prompt, &slow}), {});
  EXPECT_EQ(result.headlines[0].value, 0);
}

TEST(Stragglers, WithoutStepsTheTraceIsOneIteration) {
  TraceBuilder a, b;
  a.kernel("ncclKernel_AllReduce", 0, 1000);
  b.kernel("ncclKernel_AllReduce", 400, 600);
  const std::vector<RankResult> ranks = results_of({&a, &b});
  EXPECT_EQ(ranks[0].result.notes[0].rfind("no ProfilerStep", 0), 0U);
  const AnalysisResult result = stragglers_analysis().combine(ranks, {});
  EXPECT_EQ(result.headlines[0].value, 400);
}

TEST(Stragglers, SaysWhenThereIsNothingLong) {
  const TraceBuilder prompt = rank_that_is(0), slow = rank_that_is(1500);
  AnalysisOptions options;
  options.set("min-share", "90%");
  const AnalysisResult result = stragglers_analysis().combine(results_of({&prompt, &slow}), options);
  EXPECT_EQ(result.headlines[0].value, 1500);  // the waits are there all the same
  EXPECT_NE(result.notes.back().find("90.0 %"), std::string::npos) << result.notes.back();
  options.set("min-share", "much");
  EXPECT_THROW(stragglers_analysis().analyze(prompt.trace, options), Error);
}

}  // namespace
}  // namespace headroom::trace
