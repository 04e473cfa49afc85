// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iterator>
#include <limits>

#include "analysis_run.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/peers/hta_stragglers.h"

namespace headroom::trace {
namespace {

/// A kernel with PyTorch's arguments.
void add_collective(TraceBuilder& builder, const char* name, std::int64_t start_ns, std::int64_t duration_ns,
                    double elements, const char* group = "0", std::int32_t size = 2) {
  GpuDetail& kernel = builder.kernel("ncclDevKernel_Generic", start_ns, duration_ns);
  Collective& collective = builder.collective(kernel, name, group, size);
  collective.dtype = builder.trace.names.intern("BFloat16");
  collective.elements_in = collective.elements_out = elements;
}

TEST(Collectives, HaveNoSizeWhereATraceSaysOneThatNoMessageHas) {
  for (const double elements : {1e19, 1e308, std::numeric_limits<double>::infinity()}) {
    TraceBuilder first, second;
    for (TraceBuilder* builder : {&first, &second}) add_collective(*builder, "allreduce", 0, 10, elements);
    const std::vector<RankResult> ranks = rank_results("collectives", {&first, &second});
    EXPECT_EQ(TraceIndex(first.trace).calls().at(0).bytes, -1) << elements;
    for (const Headline& headline : find_analysis("collectives")->combine(ranks, {}).headlines)
      EXPECT_THAT(headline.metric, Not(HasSubstr("bandwidth"))) << elements;
  }
}

TEST(Collectives, KnowTheNamesOfLibrariesAndOfPytorch) {
  const std::map<std::string, std::string> expected{
      {"allreduce", "all_reduce"},
      {"allreduce_coalesced", "all_reduce"},
      {"nccl:all_reduce", "all_reduce"},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all_reduce"},
      {"void vllm::cross_device_reduce_2stage<__half, 8>", "all_reduce"},
      {"_allgather_base", "all_gather"},
      {"nccl:_all_gather_base", "all_gather"},
      {"ncclDevKernel_AllGather_RING_LL", "all_gather"},
      {"_reduce_scatter_base", "reduce_scatter"},
      {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
      {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce_scatter"},
      {"all_to_allv", "all_to_all"},
      {"nccl:all_to_all", "all_to_all"},
      {"broadcast", "broadcast"},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"},
      {"reduce", "reduce"},
      {"nccl:gather", "gather"},
      {"send", "send"},
      {"ncclDevKernel_SendRecv", "send_recv"},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", ""},
      {"wait", ""}};
  for (const auto& [name, canonical] : expected) EXPECT_EQ(collective_name(name), canonical) << name;
}

TEST(Collectives, SizesAreThoseOfNcclTests) {
  CollectiveCall call;
  call.dtype = "Float";
  call.group_size = 8;
  call.elements_in = 10;
  call.elements_out = 80;
  const auto bytes = [&](const char* collective) {
    call.collective = collective;
    return message_bytes(call);
  };
  EXPECT_EQ(bytes("all_gather"), 320);
  EXPECT_EQ(bytes("reduce_scatter"), 40);
  EXPECT_EQ(bytes("all_reduce"), 40);
  call.elements_out = -1;
  EXPECT_EQ(bytes("all_gather"), 320);  // every rank brings an eighth
  EXPECT_EQ(bytes("all_to_all"), 40);
  call.group_size = -1;
  EXPECT_EQ(bytes("all_gather"), -1);
  call.elements_in = -1;
  EXPECT_EQ(bytes("all_reduce"), -1);
  call.elements_out = 6;
  EXPECT_EQ(bytes("broadcast"), 24);
  call.dtype = "unheard of";
  EXPECT_EQ(bytes("broadcast"), -1);
}

TEST(Collectives, OneRankListsItsKernelsByGroupAndIndex) {
  TraceBuilder builder;
  add_collective(builder, "allreduce", 500, 40, 1000, "dp", 8);
  add_collective(builder, "allreduce", 100, 20, 1000, "dp", 8);
  add_collective(builder, "_allgather_base", 200, 10, 64, "tp", 2);
  builder.kernel("gemm", 0, 1000);
  const std::vector<CollectiveCall> calls = TraceIndex(builder.trace).calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(std::tuple(calls[0].start_ns, calls[0].index), std::tuple(100, 0));
  EXPECT_EQ(std::tuple(calls[1].group, calls[1].index), std::tuple("tp", 0));
  EXPECT_EQ(std::tuple(calls[2].index, calls[2].bytes), std::tuple(1, 2000));
  const AnalysisResult result = run_analysis("collectives", builder.trace);
  const DataTable& kinds = table_of(result, "collectives");
  ASSERT_EQ(kinds.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(cell(kinds, 0, "collective")), "all_reduce");
  expect_row(kinds, 0,
             {{"total_ns", 60.0},
              {"algorithm_bandwidth_gb_s", 2000 / 20.0},
              {"bus_bandwidth_gb_s", 2000 / 20.0 * 2 * 7 / 8}});
  EXPECT_EQ(result.headlines[0].value, 70);
}

TEST(Collectives, TheCallAroundTheLaunchTellsWhatTheKernelDoesNot) {
  TraceBuilder builder;
  OpDetail& op = builder.op("record_param_comms", 0, 100);
  Collective& said = builder.collective(op, "_reduce_scatter_base", "7", 4);
  said.dtype = builder.trace.names.intern("Half");
  said.elements_in = 400;
  said.elements_out = 100;
  builder.runtime("cudaLaunchKernelExC", 10, 5, 1);
  builder.kernel("ncclDevKernel_Generic", 50, 100, 1);
  OpDetail& annotation = builder.annotation("nccl:all_to_all", 200, 100);
  annotation.dims = builder.trace.names.intern("[[3, 5]]");
  annotation.types = builder.trace.names.intern("[\"long int\"]");
  builder.launch(210, 5, "ncclKernel_SendRecv", 250, 100, 2, 0, 21);
  const std::vector<CollectiveCall> calls = TraceIndex(builder.trace).calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(std::tuple(calls[0].collective, calls[0].group, calls[0].group_size, calls[0].bytes),
            std::tuple("reduce_scatter", "7", 4, 800));
  EXPECT_EQ(std::tuple(calls[1].collective, calls[1].group, calls[1].dtype, calls[1].bytes),
            std::tuple("all_to_all", "stream 21", "long int", 120));
}

TEST(Collectives, SizesOfACallThatLaunchedSeveralKernelsBelongToNone) {
  TraceBuilder builder;
  OpDetail& op = builder.op("record_param_comms", 0, 100);
  Collective& said = builder.collective(op, "allreduce_coalesced", "7", 4);
  said.dtype = builder.trace.names.intern("Half");
  said.elements_in = said.elements_out = 400;
  for (const std::int64_t i : {1, 2}) {
    builder.launch(10 * i, 5, "ncclDevKernel_AllReduce_Sum_f16_RING_LL", 100 * i, 50, i);
  }
  const TraceIndex index(builder.trace);
  for (const CollectiveCall& call : index.calls()) {
    EXPECT_EQ(std::tuple(call.group, call.bytes), std::tuple("7", -1));
  }
}

TEST(Collectives, LatencySkewAndWaitsOfThreeRanks) {
  TraceBuilder a, b, c;
  add_collective(a, "allreduce", 100, 900, 5e5, "0", 3);
  add_collective(b, "allreduce", 400, 600, 5e5, "0", 3);
  add_collective(c, "allreduce", 900, 100, 5e5, "0", 3);
  const AnalysisResult result = combine_ranks("collectives", {&a, &b, &c});
  const DataTable& skews = table_of(result, "skews");
  ASSERT_EQ(skews.rows.size(), 1U);
  expect_row(skews, 0,
             {{"latency_ns", 100.0},
              {"skew_ns", 800.0},
              {"aligned_skew_ns", 800.0},
              {"last_rank", 2.0},
              {"bytes", 1e6},
              {"algorithm_bandwidth_gb_s", 1e4},
              {"bus_bandwidth_gb_s", 1e4 * 2 * 2 / 3}});
  const DataTable& waits = table_of(result, "waits");
  EXPECT_EQ(number(waits, 0, "wait_ns"), 800);
  EXPECT_EQ(number(waits, 1, "wait_ns"), 500);
  EXPECT_EQ(number(waits, 2, "wait_ns"), 0);
  EXPECT_TRUE(table_of(result, "unmatched").rows.empty());
}

TEST(Collectives, AClockThatIsAheadIsTakenOut) {
  TraceBuilder a, b;
  for (const std::int64_t i : {0, 1, 2}) {
    const std::int64_t late = 10 * i;  // b starts that much later, its clock an hour ahead
    constexpr std::int64_t kHour = 3'600'000'000'000;
    add_collective(a, "allreduce", 1000 * i, 500, 100);
    add_collective(b, "allreduce", 1000 * i + late + kHour, 500 - late, 100);
  }
  const AnalysisResult result = combine_ranks("collectives", {&a, &b});
  const DataTable& skews = table_of(result, "skews");
  ASSERT_EQ(skews.rows.size(), 3U);
  expect_row(skews, 0, {{"aligned_skew_ns", 20.0}, {"skew_ns", 3'600'000'000'020.0}});
  EXPECT_EQ(number(skews, 2, "aligned_skew_ns"), 0);
  const DataTable& ranks = table_of(result, "ranks");
  EXPECT_EQ(number(ranks, 1, "clock_offset_ns") - number(ranks, 0, "clock_offset_ns"), 3'600'000'000'000);
  EXPECT_EQ(number(ranks, 0, "aligned_wait_ns"), 30);
}

TEST(Collectives, WhatARankDoesNotHaveIsListed) {
  TraceBuilder a, b;
  add_collective(a, "allreduce", 0, 100, 10);
  add_collective(a, "allreduce", 200, 100, 10);
  add_collective(b, "allreduce", 0, 100, 10);
  add_collective(b, "broadcast", 500, 10, 10, "only here");
  const AnalysisResult result = combine_ranks("collectives", {&a, &b});
  EXPECT_EQ(table_of(result, "skews").rows.size(), 1U);
  const DataTable& unmatched = table_of(result, "unmatched");
  ASSERT_EQ(unmatched.rows.size(), 2U);
  expect_row(unmatched, 0, {{"rank", 0.0}, {"index", 1.0}});
  EXPECT_EQ(std::get<std::string>(cell(unmatched, 1, "group")), "only here");
}

TEST(Collectives, RanksThatDisagreeAreNotPaired) {
  TraceBuilder a, b;
  add_collective(a, "allreduce", 0, 100, 10);
  add_collective(b, "broadcast", 0, 100, 10);
  add_collective(a, "allreduce", 200, 100, 10);
  add_collective(b, "allreduce", 200, 100, 11);
  const AnalysisResult result = combine_ranks("collectives", {&a, &b});
  EXPECT_TRUE(table_of(result, "skews").rows.empty());
  EXPECT_EQ(table_of(result, "unmatched").rows.size(), 4U);
}

TEST(Collectives, ATraceThatBeginsLaterIsPairedByTime) {
  TraceBuilder a, b;
  for (const std::int64_t i : {0, 1, 2, 3}) {
    add_collective(a, "allreduce", 1000 * i, 300 + 50 * i, 10);
    if (i > 0) add_collective(b, "allreduce", 1000 * i + 100, 200 + 50 * i, 10);
  }
  const AnalysisResult result = combine_ranks("collectives", {&a, &b});
  const DataTable& skews = table_of(result, "skews");
  ASSERT_EQ(skews.rows.size(), 3U);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(number(skews, row, "skew_ns"), 100);
  EXPECT_EQ(table_of(result, "unmatched").rows.size(), 1U);
  bool is_said = false;
  for (const std::string& note : result.notes) is_said |= note.find("paired by time") != std::string::npos;
  EXPECT_TRUE(is_said);
}

TEST(Collectives, NothingAndOneRankAreNoErrors) {
  const TraceBuilder empty;
  EXPECT_EQ(run_analysis("collectives", empty.trace).headlines[1].value, 0);
  EXPECT_EQ(combine_ranks("collectives", {&empty, &empty}).headlines[0].value, 0);
  TraceBuilder one;
  add_collective(one, "allreduce", 0, 100, 10);
  EXPECT_EQ(table_of(combine_ranks("collectives", {&one}), "unmatched").rows.size(), 1U);
}

TEST(Collectives, ResultsOfAnotherVersionAreRefused) {
  RankResult rank;
  EXPECT_THROW(find_analysis("collectives")->combine(std::vector<RankResult>{rank}, {}), Error);
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

const std::vector<Iterations> kIterations{{2, 1000, 20'000}, {2, 1000, 20'000}};

TEST(Stragglers, TakesTheLastLongKernelOfEachIterationWithTheLargestSpread) {
  const std::vector<std::vector<CollectiveCall>> ranks{
      {call(5, 7, "reduce", 2000, 500), call(5, 7, "reduce", 4000, 400), call(5, 7, "reduce", 6000, 99),
       call(6, 7, "reduce", 14'000, 300), call(5, 8, "gather", 3000, 1000)},
      {call(5, 7, "reduce", 4100, 300), call(6, 7, "reduce", 14'200, 100), call(5, 8, "gather", 3000, 1010)}};
  const HtaStragglerSearch search = hta_straggler_search(ranks, kIterations, 0.01);
  EXPECT_DOUBLE_EQ(search.mean_iteration_ns, 10'000);
  EXPECT_EQ(search.origin_ns, 1000);
  ASSERT_EQ(search.candidates.size(), 2U);
  EXPECT_EQ(search.candidates[0].kernel, "reduce");
  EXPECT_EQ(search.candidates[0].iterations, 2);
  // Sample deviation of two values, |a - b| / sqrt(2): 100 and 200 ns of 10,000.
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
  EXPECT_TRUE(hta_straggler_search(ranks, kIterations, 0.01).candidates.empty());
  EXPECT_TRUE(hta_straggler_search({}, {}, 0.01).candidates.empty());
}

TEST(Stragglers, CallsOutsideOfAllStepsDoNotCount) {
  const std::vector<std::vector<CollectiveCall>> ranks{
      {call(5, 7, "reduce", 2000, 500), call(-1, 7, "other", 90'000, 900)},
      {call(5, 7, "reduce", 2100, 400), call(-1, 7, "other", 90'000, 100)}};
  const HtaStragglerSearch search = hta_straggler_search(ranks, kIterations, 0.01);
  ASSERT_EQ(search.candidates.size(), 1U);
  EXPECT_EQ(search.candidates[0].kernel, "reduce");
}

/// `late_ns` after the others, ends with them.
TraceBuilder rank_that_is(std::int64_t late_ns) {
  TraceBuilder builder;
  for (const std::int64_t step : {0, 1, 2}) {
    builder.step(step + 3, 10'000 * step, 10'000);
    builder.launch(10'000 * step + 5000, 10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                   10'000 * step + 8000 + late_ns, 4000 - late_ns, step + 1);
  }
  return builder;
}

TEST(Stragglers, NamesTheRankThatIsLate) {
  const TraceBuilder prompt = rank_that_is(0), slow = rank_that_is(1500), other = rank_that_is(100);
  const AnalysisResult result = combine_ranks("stragglers", {&prompt, &slow, &other});
  const DataTable& ranks = result.tables[0];
  ASSERT_EQ(ranks.rows.size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(ranks.rows[0][0]), 1);
  // With its predecessor all would begin 1,400 earlier.
  EXPECT_DOUBLE_EQ(std::get<double>(ranks.rows[0][2]), 1400);
  EXPECT_DOUBLE_EQ(std::get<double>(ranks.rows[0][3]), 0);
  EXPECT_EQ(std::get<std::int64_t>(ranks.rows[0][4]), 3);
  EXPECT_EQ(result.headlines[0].value, 1400);
  EXPECT_DOUBLE_EQ(result.headlines[1].value, 0.14);
  EXPECT_EQ(
      result.answer[0].rfind("the other ranks wait 1.40 µs of each 10.0 µs iteration (14.0 %) for rank 1", 0),
      0U)
      << result.answer[0];
  const DataTable& late = result.tables[1];
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][0]), 1);
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][2]), 3);
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][3]), (0.95 + 1.95 + 2.95) / 3);
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][4]), 1500);
  EXPECT_DOUBLE_EQ(std::get<double>(late.rows[0][5]), 1500);
  EXPECT_EQ(std::get<std::int64_t>(late.rows[0][6]), 3);
}

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
  const AnalysisResult result = combine_ranks("stragglers", {&zero, &one, &two});
  EXPECT_EQ(std::get<std::int64_t>(result.tables[0].rows[0][0]), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(result.tables[0].rows[0][2]), 2000);
  EXPECT_DOUBLE_EQ(std::get<double>(result.tables[0].rows[1][2]), 40);
}

TEST(CollectiveCalls, SayHowLongTheyWereReadyAndWhatWaitsForThem) {
  TraceBuilder builder;
  const auto launch = [&](const std::string& name, std::int64_t at, std::int64_t start, std::int64_t length,
                          std::int64_t stream) {
    builder.launch(at, 5, name, start, length, at + 1, 0, stream);
  };
  launch("gemm", 0, 100, 1000, 7);
  launch("ncclDevKernel_AllReduce", 10, 1110, 500, 20);
  launch("gemm", 20, 1101, 2000, 7);
  launch("ncclDevKernel_AllReduce", 30, 3105, 500, 20);  // overlaps nothing
  launch("ncclDevKernel_AllReduce", 40, 3610, 500, 20);
  launch("gemm", 50, 3800, 100, 7);
  const TraceIndex index(builder.trace);
  const std::vector<CollectiveCall>& calls = index.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(std::tuple(calls[0].ready_for_ns, calls[0].exposed_tail_ns), std::tuple(10, 0));
  EXPECT_EQ(std::tuple(calls[1].ready_for_ns, calls[1].exposed_tail_ns), std::tuple(4, 500));
  EXPECT_EQ(std::tuple(calls[2].ready_for_ns, calls[2].exposed_tail_ns), std::tuple(509, 210));
}

TEST(Stragglers, AWaitBehindComputingCostsNothing) {
  TraceBuilder prompt = rank_that_is(0);
  const TraceBuilder slow = rank_that_is(1500);
  for (const std::int64_t step : {0, 1, 2}) prompt.kernel("gemm", 10'000 * step + 8000, 4000);
  EXPECT_EQ(combine_ranks("stragglers", {&prompt, &slow}).headlines[0].value, 0);
}

TEST(Stragglers, WithoutStepsTheTraceIsOneIteration) {
  TraceBuilder a, b;
  a.kernel("ncclKernel_AllReduce", 0, 1000);
  b.kernel("ncclKernel_AllReduce", 400, 600);
  const std::vector<RankResult> ranks = rank_results("stragglers", {&a, &b});
  EXPECT_EQ(ranks[0].result.notes[0].rfind("no steps in the file", 0), 0U);
  const AnalysisResult result = find_analysis("stragglers")->combine(ranks, {});
  EXPECT_EQ(result.headlines[0].value, 400);
}

TEST(Stragglers, SaysWhenThereIsNothingLong) {
  const TraceBuilder prompt = rank_that_is(0), slow = rank_that_is(1500);
  AnalysisOptions options;
  options.set("min-share", "90%");
  const AnalysisResult result = combine_ranks("stragglers", {&prompt, &slow}, options);
  EXPECT_EQ(result.headlines[0].value, 1500);
  EXPECT_NE(result.notes.back().find("90.0 %"), std::string::npos) << result.notes.back();
  options.set("min-share", "much");
  EXPECT_THROW(find_analysis("stragglers")->analyze(TraceIndex(prompt.trace), options), Error);
}

}  // namespace
}  // namespace headroom::trace
