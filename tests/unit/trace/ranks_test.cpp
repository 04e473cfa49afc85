// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <memory>

#include "analysis_run.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/ranks/lateness.h"
#include "headroom_trace/ranks/rank_summary.h"

namespace headroom::trace {
namespace {

/// Ranks work, meet in collectives and leave together.
class RunningJob {
 public:
  explicit RunningJob(std::size_t ranks)
      : now_(ranks, 0), clock_(ranks, 0), began_(ranks, 0), calls_(ranks) {}

  void set_clock(std::size_t rank, std::int64_t ahead_ns) { clock_[rank] = ahead_ns; }
  void work(std::size_t rank, std::int64_t time_ns) { now_[rank] += time_ns; }
  void work_all(std::int64_t time_ns) {
    for (std::int64_t& now : now_) now += time_ns;
  }
  void meet(const std::string& group, const std::vector<std::size_t>& ranks, std::int64_t time_ns) {
    std::int64_t end = 0;
    for (const std::size_t rank : ranks) end = std::max(end, now_[rank] + time_ns);
    for (const std::size_t rank : ranks) {
      if (now_[rank] >= began_[rank]) {
        CollectiveCall call;
        call.group = group;
        call.collective = "all_reduce";
        call.iteration = step_;
        for (const CollectiveCall& other : calls_[rank]) call.index += other.group == group ? 1 : 0;
        call.start_ns = now_[rank] + clock_[rank];
        call.duration_ns = end - now_[rank];
        call.exposed_ns = call.exposed_tail_ns = call.duration_ns;
        calls_[rank].push_back(call);
      }
      now_[rank] = end;
    }
  }
  void next_step() { ++step_; }
  void start_recording(std::size_t rank) {
    began_[rank] = now_[rank];
    calls_[rank].clear();
  }
  std::int64_t length_ns() const { return std::ranges::max(now_); }

  std::vector<double> offsets() const {
    return clock_offsets(calls_.size(), match_collectives(calls_).matched);
  }
  Lateness lateness() const {
    const CollectiveMatches matches = match_collectives(calls_);
    std::vector<RankRecord> records;
    for (std::size_t rank = 0; rank < calls_.size(); ++rank)
      records.push_back({calls_[rank], {began_[rank] + clock_[rank], now_[rank] + clock_[rank]}});
    return job_lateness(
        records, matches.matched, clock_offsets(calls_.size(), matches.matched),
        static_cast<double>(length_ns()) / static_cast<double>(std::max<std::int64_t>(1, step_)));
  }
  const std::vector<std::vector<CollectiveCall>>& calls() const { return calls_; }

 private:
  std::int64_t step_ = 0;
  std::vector<std::int64_t> now_, clock_, began_;
  std::vector<std::vector<CollectiveCall>> calls_;
};

/// Tensor parallel in pairs, data parallel between them, one late rank (-1: none).
RunningJob grid(std::size_t nodes, int tensor_calls, int data_calls, int late = -1, std::int64_t late_ns = 0,
                const std::vector<std::int64_t>& clocks = {}) {
  RunningJob job(2 * nodes);
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) job.set_clock(rank, clocks[rank]);
  for (int step = 0; step < 4; ++step) {
    if (late >= 0) job.work(static_cast<std::size_t>(late), late_ns);
    for (int call = 0; call < tensor_calls; ++call) {
      job.work_all(500 * kUs);
      for (std::size_t node = 0; node < nodes; ++node)
        job.meet("tp" + std::to_string(node), {2 * node, 2 * node + 1}, 50 * kUs);
    }
    for (int call = 0; call < data_calls; ++call) {
      job.work_all(20 * kUs);
      for (std::size_t place = 0; place < 2; ++place) {
        std::vector<std::size_t> group;
        for (std::size_t node = 0; node < nodes; ++node) group.push_back(2 * node + place);
        job.meet("dp" + std::to_string(place), group, 200 * kUs);
      }
    }
    job.next_step();
  }
  return job;
}

void expect_nobody_late(const RunningJob& job, const std::string& what) {
  const Lateness lateness = job.lateness();
  EXPECT_THAT(lateness.cost_ns, Each(::testing::Lt(1.0))) << what;
  EXPECT_THAT(lateness.last, Each(0)) << what;
  EXPECT_LT(lateness.total_ns, 1) << what;
}

TEST(ClockOffsets, AgreeWithAllGroupsAtOnce) {
  for (const std::int64_t apart : {50 * kUs, -50 * kUs, 5 * kMs, -5 * kMs}) {
    for (const auto& [tensor, data] : {std::pair{9, 1}, std::pair{1, 4}, std::pair{2, 2}}) {
      const RunningJob job = grid(2, tensor, data, -1, 0, {0, 0, apart, apart});
      const std::vector<double> offsets = job.offsets();
      EXPECT_DOUBLE_EQ(offsets[2] - offsets[0], static_cast<double>(apart));
      EXPECT_DOUBLE_EQ(offsets[3] - offsets[1], static_cast<double>(apart));
      EXPECT_DOUBLE_EQ(offsets[1], offsets[0]);
      expect_nobody_late(job, std::to_string(apart));
    }
  }
}

TEST(ClockOffsets, OfFourNodesWithAClockEach) {
  const std::vector<std::int64_t> clocks{0, 0, 50 * kUs, 50 * kUs, -70 * kUs, -70 * kUs, 3 * kMs, 3 * kMs};
  const RunningJob job = grid(4, 9, 1, -1, 0, clocks);
  const std::vector<double> offsets = job.offsets();
  for (std::size_t rank = 0; rank < clocks.size(); ++rank)
    EXPECT_DOUBLE_EQ(offsets[rank] - offsets[0], static_cast<double>(clocks[rank])) << rank;
  expect_nobody_late(job, "four nodes");
}

TEST(ClockOffsets, BelowAMicrosecondMakeNobodyLate) {
  const RunningJob job = grid(2, 3, 1, -1, 0, {0, 400, -300, 900});
  EXPECT_THAT(job.offsets(), ElementsAre(-200, 200, -500, 700));
  expect_nobody_late(job, "less than a microsecond");
}

TEST(ClockOffsets, RanksWithoutCollectivesKeepTheirClock) {
  RunningJob job(4);
  job.set_clock(1, 10 * kMs);
  job.set_clock(3, 5 * kMs);
  for (int i = 0; i < 3; ++i) {
    job.work_all(kMs);
    job.meet("pair", {0, 1}, kMs);
  }
  EXPECT_THAT(job.offsets(), ElementsAre(-5e6, 5e6, 0, 0));
}

TEST(Lateness, OfOneRankIsWhatTheJobLosesByIt) {
  for (const std::int64_t clock : {0 * kUs, 50 * kUs, -5 * kMs}) {
    for (int late = 0; late < 4; ++late) {
      const RunningJob with = grid(2, 4, 1, late, 700 * kUs, {0, 0, clock, clock}), without = grid(2, 4, 1);
      const Lateness lateness = with.lateness();
      for (int rank = 0; rank < 4; ++rank) {
        const double cost = rank == late ? static_cast<double>(with.length_ns() - without.length_ns()) : 0;
        EXPECT_NEAR(lateness.cost_ns[static_cast<std::size_t>(rank)], cost, 1) << rank << " of " << late;
      }
      EXPECT_NEAR(lateness.total_ns, 4 * 700e3, 1);
    }
  }
}

TEST(Lateness, AVictimCostsNothing) {
  const Lateness lateness = grid(4, 3, 2, 0, 2 * kMs).lateness();
  EXPECT_NEAR(lateness.cost_ns[0], 4 * 2e6, 1);
  for (std::size_t rank = 1; rank < 8; ++rank) EXPECT_EQ(lateness.cost_ns[rank], 0) << rank;
  EXPECT_EQ(lateness.last[1], 0);
}

TEST(Lateness, OfSeveralRanksInTurnIsEachsOwn) {
  RunningJob job(4);
  for (int step = 0; step < 6; ++step) {
    job.work(step % 2 == 0 ? 1 : 2, 300 * kUs);
    job.work_all(kMs);
    job.meet("all", {0, 1, 2, 3}, 100 * kUs);
    job.next_step();
  }
  const Lateness lateness = job.lateness();
  EXPECT_NEAR(lateness.cost_ns[1], 900e3, 1);
  EXPECT_NEAR(lateness.cost_ns[2], 900e3, 1);
  EXPECT_NEAR(lateness.total_ns, 1800e3, 1);
  EXPECT_THAT(lateness.last, ElementsAre(0, 3, 3, 0));
}

TEST(Lateness, OfTwoAtOnceBelongsToNeither) {
  RunningJob job(5);
  for (int step = 0; step < 4; ++step) {
    job.work(1, 300 * kUs);
    job.work(2, 300 * kUs);
    job.work_all(kMs);
    job.meet("all", {0, 1, 2, 3, 4}, 100 * kUs);
    job.next_step();
  }
  const Lateness lateness = job.lateness();
  EXPECT_THAT(lateness.cost_ns, Each(0.0));
  EXPECT_NEAR(lateness.total_ns, 1200e3, 1);
}

TEST(Lateness, BehindComputingCostsNothing) {
  RunningJob job(2);
  for (int step = 0; step < 3; ++step) {
    job.work(1, 400 * kUs);
    job.work_all(kMs);
    job.meet("all", {0, 1}, 100 * kUs);
    job.next_step();
  }
  std::vector<std::vector<CollectiveCall>> calls = job.calls();
  for (CollectiveCall& call : calls[0]) call.exposed_ns = call.exposed_tail_ns = 0;
  const CollectiveMatches matches = match_collectives(calls);
  const std::vector<RankRecord> records{{calls[0], {0, job.length_ns()}}, {calls[1], {0, job.length_ns()}}};
  const Lateness lateness = job_lateness(records, matches.matched, clock_offsets(2, matches.matched), 1.5e6);
  EXPECT_EQ(std::tuple(lateness.cost_ns[1], lateness.waited_ns[0]), std::tuple(0, 0));
}

/// Four ranks in pairs: blocking tensor-parallel collectives, and overlapped data-parallel ones that end the
/// step.
class HidingJob {
 public:
  HidingJob(int late, std::int64_t late_ns, std::int64_t data_ns) : late_(late), late_ns_(late_ns) {
    for (int step = 0; step < 4; ++step) {
      for (int layer = 0; layer < 5; ++layer) {
        compute(500 * kUs);
        meet("tp", {{0, 1}, {2, 3}}, 60 * kUs, step, true);
        compute(300 * kUs);
        meet("dp", {{0, 2}, {1, 3}}, data_ns, step, false);
      }
      for (std::size_t rank = 0; rank < kRanks; ++rank) now_[rank] = std::max(now_[rank], stream_[rank]);
      compute(100 * kUs);
    }
  }
  std::int64_t length_ns() const { return std::ranges::max(now_); }
  /// `pause_ns`: no computing after the late rank's hidden collective.
  Lateness lateness(std::int64_t pause_ns = 0) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      for (CollectiveCall& call : calls_[rank]) {
        call.exposed_ns = call.duration_ns - length_within(computing_[rank], {call.start_ns, call.end_ns()});
        std::int64_t last = call.start_ns;
        for (const Span& span : computing_[rank]) {
          if (span.start < call.end_ns()) last = std::max(last, std::min(span.end, call.end_ns()));
        }
        call.exposed_tail_ns = call.end_ns() - last;
        if (call.exposed_tail_ns == 0 && std::cmp_equal(rank, late_)) call.exposed_tail_ns = pause_ns;
      }
      std::ranges::stable_sort(calls_[rank], {}, &CollectiveCall::start_ns);
    }
    const CollectiveMatches matches = match_collectives(calls_);
    std::vector<RankRecord> records;
    for (std::size_t rank = 0; rank < kRanks; ++rank) records.push_back({calls_[rank], {0, now_[rank]}});
    return job_lateness(records, matches.matched, clock_offsets(kRanks, matches.matched),
                        static_cast<double>(length_ns()) / 4);
  }

 private:
  static constexpr std::size_t kRanks = 4;

  void compute(std::int64_t time_ns) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::int64_t length = time_ns + (std::cmp_equal(rank, late_) ? late_ns_ : 0);
      computing_[rank].push_back({now_[rank], now_[rank] + length});
      now_[rank] += length;
    }
  }
  void meet(const std::string& kind, const std::vector<std::vector<std::size_t>>& groups,
            std::int64_t time_ns, int step, bool waits) {
    for (std::size_t number = 0; number < groups.size(); ++number) {
      std::vector<std::int64_t> starts;
      for (const std::size_t rank : groups[number])
        starts.push_back(waits ? now_[rank] : std::max(now_[rank], stream_[rank] + kUs));
      const std::int64_t end = std::ranges::max(starts) + time_ns;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::size_t rank = groups[number][i];
        CollectiveCall call;
        call.group = kind + std::to_string(number);
        call.collective = "all_reduce";
        call.iteration = step;
        for (const CollectiveCall& other : calls_[rank]) call.index += other.group == call.group ? 1 : 0;
        call.stream = waits ? 20 : 24;
        call.start_ns = starts[i];
        call.duration_ns = end - starts[i];
        call.ready_for_ns = starts[i] - now_[rank];
        calls_[rank].push_back(call);
        (waits ? now_ : stream_)[rank] = end;
      }
    }
  }

  int late_;
  std::int64_t late_ns_;
  std::vector<std::int64_t> now_ = std::vector<std::int64_t>(kRanks), stream_ = now_;
  std::vector<std::vector<CollectiveCall>> calls_{kRanks};
  std::vector<Spans> computing_{kRanks};
};

TEST(Lateness, BesideHiddenCollectivesCostsWhatTheJobIsLonger) {
  for (const std::int64_t data_ns : {200 * kUs, 800 * kUs, 1500 * kUs}) {
    EXPECT_THAT(HidingJob(-1, 0, data_ns).lateness().cost_ns, Each(::testing::Lt(1.0))) << data_ns;
    for (const int late : {0, 3}) {
      HidingJob job(late, 100 * kUs, data_ns);
      const auto truth = static_cast<double>(job.length_ns() - HidingJob(-1, 0, data_ns).length_ns());
      const Lateness lateness = job.lateness();
      EXPECT_NEAR(lateness.cost_ns[static_cast<std::size_t>(late)], truth, 0.05 * truth + 110e3) << data_ns;
      // The usual distance of kernels, without a wait.
      EXPECT_EQ(HidingJob(late, 100 * kUs, data_ns).lateness(2 * kUs).cost_ns, lateness.cost_ns) << data_ns;
      for (int other = 0; other < 4; ++other) {
        if (other == late) continue;
        EXPECT_LT(lateness.cost_ns[static_cast<std::size_t>(other)], 1) << other;
      }
    }
  }
}

TEST(Lateness, OfTheRecorderIsNobodys) {
  for (const int missed : {1, 2}) {
    for (const std::int64_t clock : {0 * kUs, 5 * kMs}) {
      RunningJob job(4);
      job.set_clock(2, clock);
      for (int step = 0; step < 6; ++step) {
        if (step == missed) job.start_recording(2);
        for (int call = 0; call < 3; ++call) {
          job.work_all(kMs);
          job.meet("all", {0, 1, 2, 3}, 100 * kUs);
        }
        job.next_step();
      }
      expect_nobody_late(job, std::to_string(missed));
      EXPECT_NEAR(job.lateness().start_spread_ns, missed * 3.3e6, 1);
      EXPECT_EQ(job.lateness().last_to_start, 2U);
      EXPECT_THAT(job.offsets(), ElementsAre(0, 0, static_cast<double>(clock), 0));
    }
  }
}

TEST(Lateness, WithoutCollectivesIsNone) {
  const Lateness none = job_lateness({}, {}, {}, 0);
  EXPECT_TRUE(none.cost_ns.empty());
  const std::vector<RankRecord> two(2);
  EXPECT_THAT(job_lateness(two, {}, std::vector<double>(2), 0).cost_ns, ElementsAre(0, 0));
}

TraceBuilder rank_with(std::int64_t bmm_ns, std::int64_t host_ns) {
  TraceBuilder builder;
  for (int step = 0; step < 4; ++step) {
    const std::int64_t at = step * 5 * kMs;
    builder.step(step, at, 5 * kMs);
    if (host_ns > 0) builder.op("aten::randperm", at, host_ns);
    std::int64_t device = at + host_ns + 50 * kUs;
    std::int64_t host = at + host_ns;
    int number = 3 * step;
    for (const auto& [name, time_ns] : {std::pair{"aten::mm", 500 * kUs}, std::pair{"aten::bmm", bmm_ns}}) {
      builder.op(name, host, 20 * kUs);
      builder.runtime("cudaLaunchKernel", host + 5 * kUs, 5 * kUs, ++number);
      builder.kernel("sgemm", device, time_ns, number);
      host += 25 * kUs;
      device += time_ns + kUs;
    }
    builder.runtime("cudaLaunchKernel", host, 5 * kUs, ++number);
    builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", device, at + 4 * kMs - device, number, 0, 20);
    builder.runtime("cudaDeviceSynchronize", host + 10 * kUs, at + 4 * kMs - host);
  }
  return builder;
}

AnalysisResult job_findings(const std::vector<std::pair<std::int64_t, std::int64_t>>& times) {
  std::vector<RankResult> ranks;
  for (const auto& [bmm_ns, host_ns] : times) {
    const TraceBuilder builder = rank_with(bmm_ns, host_ns);
    RankResult& rank = ranks.emplace_back();
    rank.rank = std::ssize(ranks) - 1;
    rank.result = run_analysis("findings", builder.trace);
  }
  return find_analysis("findings")->combine(ranks, {});
}

TEST(JobFindings, SayWhatTheLateRankDoesLonger) {
  const AnalysisResult device =
      job_findings({{500 * kUs, 0}, {2500 * kUs, 0}, {500 * kUs, 0}, {500 * kUs, 0}});
  const DataTable& found = table_of(device, "findings");
  const std::size_t row = row_with(found, "kind", "straggler");
  EXPECT_EQ(integer(found, row, "rank"), 1);
  EXPECT_NEAR(number(found, row, "recoverable_ns"), 2e6, 1e3);
  EXPECT_THAT(text(found, row, "evidence"), HasSubstr("aten::bmm takes 2.00 ms/step more on the GPU"));
  EXPECT_EQ(text(found, row, "op"), "aten::bmm");

  const DataTable late =
      table_of(job_findings({{500 * kUs, 0}, {500 * kUs, 0}, {500 * kUs, 1500 * kUs}}), "findings");
  const std::size_t slow = row_with(late, "kind", "straggler");
  EXPECT_EQ(integer(late, slow, "rank"), 2);
  EXPECT_THAT(text(late, slow, "evidence"), HasSubstr("aten::randperm takes 1.50 ms/step more on the CPU"));
}

TEST(JobFindings, BeginWithTheMeanStepOfTheRanks) {
  const AnalysisResult result = job_findings({{500 * kUs, 0}, {500 * kUs, 1500 * kUs}});
  ASSERT_GE(result.standing.size(), 2U);
  EXPECT_THAT(result.standing[0], HasSubstr("step 5.00 ms · GPU busy 64.0 % · exposed communication "));
  EXPECT_THAT(result.standing[1], HasSubstr("GPU idle or exposed "));
}

TEST(JobFindings, OfEqualRanksNameNoStraggler) {
  const AnalysisResult result = job_findings({{500 * kUs, 0}, {500 * kUs, 0}, {500 * kUs, 0}});
  for (const std::vector<Cell>& row : table_of(result, "findings").rows)
    EXPECT_THAT(std::get<std::string>(row[0]), AllOf(Not("straggler"), Not("imbalance")));
}

RankResult rank_that_waits(std::int64_t number, double wait_ns, double host_ns, double together_ns) {
  RankSummary summary;
  summary.shares.step_ns = 10e6;
  summary.shares.steps = 3;
  summary.shares.known = DeviceTimeStatus::kYes;
  summary.shares.busy = 0.6;
  summary.findings.resize(2);
  summary.findings[0].kind = FindingKind::kSynchronisation;
  summary.findings[0].recoverable_ns = summary.findings[0].further_ns = wait_ns;
  summary.findings[1].kind = FindingKind::kHostBound;
  summary.findings[1].recoverable_ns = host_ns;
  summary.findings[1].further_ns = together_ns - wait_ns;
  summary.findings[1].partner = 0;
  summary.findings[1].together_ns = together_ns;
  RankResult rank;
  rank.rank = number;
  rank.result.summary = std::make_shared<const RankSummary>(std::move(summary));
  return rank;
}

TEST(JobFindings, ThatOverlapAreNotAddedUp) {
  for (const bool is_host_larger : {false, true}) {
    const double host_ns = is_host_larger ? 2.1e6 : 1.5e6;
    std::vector<RankResult> ranks{rank_that_waits(0, 2e6, host_ns, 2.2e6),
                                  rank_that_waits(1, 1e6, 0.5e6, 1.1e6)};
    const AnalysisResult result = find_analysis("findings")->combine(ranks, {});
    EXPECT_THAT(result.standing[0], HasSubstr("two findings save 22.0 %"));
    EXPECT_THAT(result.standing[1], HasSubstr("findings explain 55.0 %"));
    EXPECT_EQ(text(result, "findings", 0, "kind"), is_host_larger ? "host_bound" : "synchronisation");
    EXPECT_THAT(result.answer, Contains(HasSubstr("1 and 2 overlap: 2.20 ms for both")));
  }
  std::vector<RankResult> apart{rank_that_waits(0, 2e6, 1.5e6, 3.5e6)};
  for (const std::string& line : find_analysis("findings")->combine(apart, {}).answer)
    EXPECT_THAT(line, Not(HasSubstr("overlap")));
}

TEST(Stragglers, SayThatNobodyIsLate) {
  std::vector<RankResult> ranks;
  for (int i = 0; i < 3; ++i) {
    const TraceBuilder builder = rank_with(500 * kUs, 0);
    ranks.push_back({"rank" + std::to_string(i), i, run_analysis("stragglers", builder.trace)});
  }
  const AnalysisResult result = find_analysis("stragglers")->combine(ranks, {});
  ASSERT_EQ(result.answer.size(), 1U);
  EXPECT_THAT(result.answer[0], AllOf(HasSubstr("no straggler"), Not(HasSubstr("last"))));
}

std::vector<RankResult> results_of(const char* analysis, std::span<const TraceBuilder> builders) {
  std::vector<RankResult> ranks;
  for (const TraceBuilder& builder : builders) {
    const auto rank = std::ssize(ranks);
    ranks.push_back({"rank" + std::to_string(rank), rank, run_analysis(analysis, builder.trace)});
  }
  return ranks;
}

std::vector<TraceBuilder> ranks_with_one_late_by(std::int64_t late_ns) {
  std::vector<TraceBuilder> builders;
  for (const std::int64_t own : {std::int64_t{0}, std::int64_t{0}, late_ns})
    builders.push_back(rank_with(500 * kUs + own, 0));
  return builders;
}

TEST(Stragglers, AndCollectivesHaveOneRuleForTheLastToCome) {
  for (const auto& [late_ns, last] :
       {std::pair<std::int64_t, std::int64_t>{0, 0}, {20 * kUs, 0}, {300 * kUs, 4}}) {
    const std::vector<TraceBuilder> builders = ranks_with_one_late_by(late_ns);
    for (const char* analysis : {"collectives", "stragglers"}) {
      const DataTable ranks =
          table_of(find_analysis(analysis)->combine(results_of(analysis, builders), {}), "ranks");
      for (std::size_t row = 0; row < ranks.rows.size(); ++row) {
        EXPECT_EQ(integer(ranks, row, "last"), integer(ranks, row, "rank") == 2 ? last : 0)
            << analysis << late_ns;
      }
    }
  }
}

TEST(Stragglers, HaveTheStepOfTheFindings) {
  const std::vector<TraceBuilder> builders = ranks_with_one_late_by(300 * kUs);
  const AnalysisResult result = find_analysis("stragglers")->combine(results_of("stragglers", builders), {}),
                       found = find_analysis("findings")->combine(results_of("findings", builders), {});
  ASSERT_FALSE(result.answer.empty());
  ASSERT_FALSE(found.standing.empty());
  const std::string step = found.standing[0].substr(0, found.standing[0].find(" ·"));
  EXPECT_THAT(result.answer[0],
              HasSubstr("of each " + step.substr(std::string("step ").size()) + " iteration"));
}

}  // namespace
}  // namespace headroom::trace
