// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/job_path.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_trace/collectives/clock_offsets.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using ::testing::ElementsAre;

struct Job {
  explicit Job(std::size_t ranks) : calls(ranks), paths(ranks) {}

  void meet(std::vector<std::int64_t> starts, std::int64_t end) {
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      CollectiveCall call;
      call.group = "0";
      call.collective = "all_reduce";
      call.index = std::ssize(calls[rank]);
      call.start_ns = starts[rank];
      call.duration_ns = end - starts[rank];
      calls[rank].push_back(call);
    }
  }

  std::vector<JobStretch> path() {
    matches = match_collectives(calls);
    return job_path(paths, matches.matched, clock_offsets(calls.size(), matches.matched));
  }

  std::vector<std::vector<CollectiveCall>> calls;
  std::vector<RankPath> paths;
  CollectiveMatches matches;
};

std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> places(const std::vector<JobStretch>& path) {
  std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> all;
  for (const JobStretch& stretch : path) all.emplace_back(stretch.rank, stretch.from_ns, stretch.to_ns);
  return all;
}

constexpr PathClass kOperators = path_class(HostActivity::kOperator),
                    kLaunch = path_class(HostActivity::kLaunch),
                    kDataLoading = path_class(HostActivity::kDataLoading);

std::int64_t time_of(const JobStretch& stretch, PathClass kind) {
  return stretch.class_ns[static_cast<std::size_t>(kind)];
}

TEST(JobPath, GoesToTheRankThatTheOthersWaitFor) {
  Job job(3);
  job.meet({100, 400, 150}, 450);
  job.meet({500, 550, 800}, 900);
  job.paths = {{0, 1000, {}}, {0, 950, {}}, {0, 940, {}}};
  const std::vector<JobStretch> path = job.path();
  using Place = std::tuple<std::size_t, std::int64_t, std::int64_t>;
  EXPECT_THAT(places(path), ElementsAre(Place(1, 0, 400), Place(2, 400, 800), Place(0, 800, 1000)));
  EXPECT_EQ(path[0].until, &job.matches.matched[0]);
  EXPECT_EQ(path[1].until, &job.matches.matched[1]);
  EXPECT_EQ(path[2].until, nullptr);
}

TEST(JobPath, OfTheOneWhoComesLastToAllNothingIsLeft) {
  Job job(2);
  job.meet({100, 400}, 450);
  job.meet({500, 800}, 900);
  job.paths = {{0, 900, {}}, {0, 1000, {}}};
  EXPECT_THAT(places(job.path()), ElementsAre(std::tuple(1, 0, 1000)));
}

TEST(JobPath, ClocksThatAreApartDoNotMatter) {
  Job job(2);
  job.meet({100, 400}, 450);
  job.paths = {
      {0,
       1000,
       {{0, 100, kOperators}, {100, 450, PathClass::kGpuCommunication}, {450, 1000, PathClass::kGpuCompute}}},
      {0, 900, {{0, 390, kOperators}, {390, 900, kLaunch}}}};
  const std::vector<JobStretch> together = job.path();
  for (CollectiveCall& call : job.calls[1]) call.start_ns += 5000;
  job.paths[1] = {5000, 5900, {{5000, 5390, kOperators}, {5390, 5900, kLaunch}}};
  const std::vector<JobStretch> apart = job.path();
  // Half of the offset each, from the median of two.
  using Place = std::tuple<std::size_t, std::int64_t, std::int64_t>;
  EXPECT_THAT(places(together), ElementsAre(Place(1, 0, 400), Place(0, 400, 1000)));
  EXPECT_THAT(places(apart), ElementsAre(Place(1, 2500, 2900), Place(0, 2900, 3500)));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(together[i].class_ns, apart[i].class_ns);
}

TEST(JobPath, AWaitBesideOtherWorkIsPassedOver) {
  for (const PathClass kind : {PathClass::kGpuCompute, kOperators, kDataLoading}) {
    Job job(2);
    job.meet({100, 400}, 450);
    job.paths = {{0, 1000, {{0, 1000, kind}}}, {0, 900, {}}};
    EXPECT_THAT(places(job.path()), ElementsAre(std::tuple(0, 0, 1000)));
    job.paths[0].stretches = {{0, 100, kind}, {100, 450, PathClass::kGpuCommunication}, {450, 1000, kind}};
    EXPECT_EQ(job.path().size(), 2U);
  }
}

TEST(JobPath, ClassesSumToTheTime) {
  Job job(2);
  job.meet({100, 400}, 450);
  job.paths = {
      {0,
       700,
       {{0, 90, kOperators}, {90, 450, PathClass::kGpuCommunication}, {500, 700, PathClass::kGpuCompute}}},
      {0, 600, {{0, 390, kOperators}, {390, 420, kLaunch}, {420, 600, kOperators}}}};
  job.paths[0].end_ns = 1000;  // outside its path to the end
  const std::vector<JobStretch> path = job.path();
  ASSERT_EQ(path.size(), 2U);
  EXPECT_EQ(time_of(path[0], kOperators), 390);
  EXPECT_EQ(time_of(path[0], kLaunch), 10);
  EXPECT_EQ(time_of(path[1], PathClass::kGpuCommunication), 50);
  EXPECT_EQ(time_of(path[1], PathClass::kGpuCompute), 200);
  EXPECT_EQ(path[1].class_ns.back(), 350);
  for (const JobStretch& stretch : path)
    EXPECT_EQ(std::accumulate(stretch.class_ns.begin(), stretch.class_ns.end(), std::int64_t{0}),
              stretch.to_ns - stretch.from_ns);
}

TEST(JobPath, EndsWhereTheWindowOfItsRankBegins) {
  Job job(2);
  job.meet({100, 400}, 450);
  job.meet({500, 800}, 900);
  // Rank 0's window has only the second; rank 1's begins after the others wait for it.
  job.paths = {{460, 1000, {}}, {850, 950, {}}};
  EXPECT_THAT(places(job.path()), ElementsAre(std::tuple(0, 800, 1000)));
}

TEST(JobPath, RanksWithoutCollectivesAreNoPartOfIt) {
  Job job(3);
  job.meet({100, 400}, 450);
  job.paths = {{0, 1000, {}}, {0, 950, {}}, {0, 99'000, {}}};
  EXPECT_EQ(job.path().back().rank, 0U);
  Job alone(2);
  alone.paths = {{0, 1000, {}}, {0, 950, {}}};
  EXPECT_TRUE(alone.path().empty());
  EXPECT_TRUE(job_path({}, {}, {}).empty());
}

Trace rank_of(int rank) {
  TraceBuilder builder;
  const std::int64_t late = rank == 1 ? 600'000 : 0;
  builder.step(3, 0, 1'500'000);
  builder.op("aten::randperm", 10'000, 100'000 + late);
  builder.runtime("cudaLaunchKernel", 120'000 + late, 5'000, 1);
  GpuDetail& reduce =
      builder.kernel("ncclDevKernel_AllReduce_Sum_f32", 130'000 + late, 870'000 - late, 1, 0, 20);
  reduce.collective = static_cast<std::uint32_t>(builder.trace.collectives.size());
  Collective& collective = builder.trace.collectives.emplace_back();
  collective.name = builder.trace.names.intern("allreduce");
  collective.group = builder.trace.names.intern("0");
  builder.runtime("cudaDeviceSynchronize", 740'000, 265'000);
  return std::move(builder.trace);
}

TEST(JobPath, IsPartOfTheAnalysisOfSeveralRanks) {
  const Analysis& analysis = *find_analysis("critical-path");
  std::vector<RankResult> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.push_back(
        {"rank" + std::to_string(rank) + ".json", rank, analysis.analyze(TraceIndex(rank_of(rank)), {})});
  const AnalysisResult result = analysis.combine(ranks, {});
  ASSERT_EQ(result.answer.size(), 1U);
  EXPECT_THAT(result.answer[0], testing::HasSubstr("is on rank 0"));
  EXPECT_THAT(result.answer[0], testing::HasSubstr("changes rank 1 time"));
  const DataTable& path = result.tables[0];
  ASSERT_EQ(path.key, "job_path");
  ASSERT_EQ(path.rows.size(), 2U);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][0]), 1);
  EXPECT_EQ(std::get<std::int64_t>(path.rows[0][2]), 730'000);
  EXPECT_EQ(std::get<std::string>(path.rows[0][4]), "operators");
  EXPECT_EQ(result.headlines.back().metric, "job_critical_path");
  EXPECT_EQ(result.headlines.back().value, 1'500'000);

  AnalysisOptions one;
  one.top = 1;
  const AnalysisResult cut = analysis.combine(ranks, one);
  ASSERT_EQ(cut.tables[0].rows.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(cut.tables[0].rows[0][0]), 0);  // the longer one
  EXPECT_THAT(cut.notes, testing::Contains(testing::HasSubstr("has 2 stretches; the longest 1")));
}

TEST(JobPath, ThePathOfARankJoinsLinksOfOneClass) {
  const RankPath path = rank_path(std::vector<PathLink>{{{10, 20}, kOperators, 1},
                                                        {{20, 40}, kOperators, 2},
                                                        {{40, 90}, PathClass::kGpuCompute, 3},
                                                        {{90, 95}, kOperators, 2}});
  EXPECT_EQ(std::pair(path.start_ns, path.end_ns), std::pair(std::int64_t{10}, std::int64_t{95}));
  ASSERT_EQ(path.stretches.size(), 3U);
  EXPECT_EQ(std::pair(path.stretches[0].from_ns, path.stretches[0].to_ns),
            std::pair(std::int64_t{10}, std::int64_t{40}));
  EXPECT_EQ(path.stretches[1].kind, PathClass::kGpuCompute);
}

TEST(JobPath, WithoutCollectivesRanksHaveRowsOnly) {
  TraceBuilder builder;
  builder.step(3, 0, 1000);
  builder.op("aten::add", 10, 100);
  const Analysis& analysis = *find_analysis("critical-path");
  const std::vector<RankResult> ranks{{"a.json", 0, analysis.analyze(TraceIndex(builder.trace), {})},
                                      {"b.json", 1, analysis.analyze(TraceIndex(builder.trace), {})}};
  const AnalysisResult result = analysis.combine(ranks, {});
  EXPECT_EQ(result.tables[0].key, "ranks");
  EXPECT_TRUE(result.answer.empty());
  EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr("no collective appears")));
}

TEST(JobPath, ResultsOfAnotherVersionAreRefused) {
  const Analysis& analysis = *find_analysis("critical-path");
  EXPECT_THROW(analysis.combine(std::vector<RankResult>{{"a.json", 0, {}}}, {}), Error);
  AnalysisResult without_path;
  without_path.summary = std::make_shared<const RankSummary>();
  EXPECT_THROW(analysis.combine(std::vector<RankResult>{{"a.json", 0, without_path}}, {}), Error);
}

}  // namespace
}  // namespace headroom::trace
