// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>

#include "analysis_run.h"
#include "headroom/base/json.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/critical_path/critical_path.h"
#include "headroom_trace/critical_path/job_path.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/ranks/rank_summary.h"

namespace headroom::trace {
namespace {

/// A link as "class event", and its time.
using Part = std::tuple<std::string, std::int64_t, std::int64_t>;
std::vector<Part> parts_of(const TraceBuilder& builder, Span window) {
  const Trace& trace = builder.trace;
  std::vector<Part> parts;
  for (const PathLink& link : critical_path(TraceIndex(trace), window)) {
    std::string name = to_string(link.kind);
    if (link.event != kNone) name += " " + std::string(trace.names[trace.events.name[link.event]]);
    parts.emplace_back(name, link.time.start, link.time.end);
  }
  return parts;
}

void expect_tiled(const Trace& trace, Span window) {
  const TraceIndex index(trace);
  const std::int64_t length = Replay(index, window).length_ns();
  std::int64_t at = window.start;
  for (const PathLink& link : critical_path(index, window)) {
    ASSERT_EQ(link.time.start, at);
    ASSERT_GT(link.time.end, at);
    at = link.time.end;
  }
  EXPECT_EQ(at, window.start + std::max<std::int64_t>(length, 0));
}

TEST(CriticalPath, GoesBackOverLaunchesWorkAndWaits) {
  TraceBuilder builder;
  builder.op("aten::first", 0, 30'000);
  builder.launch(10'000, 10'000, "first", 30'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 940'000);
  builder.op("aten::work", 1'040'000, 310'000);
  builder.launch(1'340'000, 10'000, "second", 1'360'000, 1'000'000, 2);
  builder.launch(1'360'000, 10'000, "third", 2'361'000, 500'000, 3);
  EXPECT_THAT(
      parts_of(builder, {0, 2'000'000}),
      ElementsAre(Part("operators aten::first", 0, 10'000), Part("launch cudaLaunchKernel", 10'000, 30'000),
                  Part("gpu compute first", 30'000, 1'030'000),
                  Part("synchronisation cudaDeviceSynchronize", 1'030'000, 1'040'000),
                  Part("operators aten::work", 1'040'000, 1'340'000),
                  Part("launch cudaLaunchKernel", 1'340'000, 1'360'000),
                  Part("gpu compute second", 1'360'000, 2'360'000),
                  Part("not the host third", 2'360'000, 2'361'000),
                  Part("gpu compute third", 2'361'000, 2'861'000)));
  EXPECT_EQ(parts_of(builder, {50'000, 2'000'000}).front(), Part("gpu compute first", 50'000, 1'030'000));
}

TEST(CriticalPath, WorkFollowsTheOtherStreamThatItWaitedFor) {
  TraceBuilder builder;
  builder.launch(0, 5'000, "ncclDevKernel_AllReduce", 10'000, 900'000, 1, 0, 20);
  builder.launch(10'000, 5'000, "beside", 20'000, 100'000, 2);
  builder.launch(20'000, 5'000, "after", 912'000, 100'000, 3);
  EXPECT_THAT(parts_of(builder, {0, 1'000'000}),
              ElementsAre(Part("launch cudaLaunchKernel", 0, 10'000),
                          Part("gpu communication ncclDevKernel_AllReduce", 10'000, 910'000),
                          Part("not the host after", 910'000, 912'000),
                          Part("gpu compute after", 912'000, 1'012'000)));
}

TEST(CriticalPath, HostTimeIsTheLaunchingThreadsUntilItBeginsAndAnothersBefore) {
  TraceBuilder builder;
  builder.op("forward", 0, 100'000);
  builder.launch(80'000, 5'000, "forward kernel", 90'000, 10'000, 1);
  builder.op("loss", 100'000, 60'000);
  builder.op("MmBackward0", 150'000, 100'000, -1, "2");
  builder.op("worker", 90'000, 400'000, -1, "3");  // it never launches: nobody waits for it
  builder.runtime("cudaLaunchKernel", 240'000, 5'000, 2, "2");
  builder.kernel("backward kernel", 250'000, 10'000, 2);
  builder.op("optimizer", 300'000, 50'000);
  EXPECT_THAT(
      parts_of(builder, {0, 360'000}),
      ElementsAre(Part("operators forward", 0, 80'000), Part("launch cudaLaunchKernel", 80'000, 85'000),
                  Part("operators forward", 85'000, 100'000), Part("operators loss", 100'000, 160'000),
                  Part("operators MmBackward0", 160'000, 240'000),
                  Part("launch cudaLaunchKernel", 240'000, 245'000),
                  Part("operators MmBackward0", 245'000, 250'000), Part("not recorded", 250'000, 300'000),
                  Part("operators optimizer", 300'000, 350'000), Part("not recorded", 350'000, 360'000)));
}

TEST(CriticalPath, WithoutDevicesItIsThatOfTheBusiestThread) {
  TraceBuilder builder;
  builder.op("elsewhere", 0, 140, -1, "2");
  builder.op("a", 0, 100);
  builder.op("inner", 10, 30);
  builder.op("b", 150, 50);
  EXPECT_THAT(parts_of(builder, {0, 200}),
              ElementsAre(Part("operators a", 0, 10), Part("operators inner", 10, 40),
                          Part("operators a", 40, 100), Part("operators elsewhere", 100, 140),
                          Part("not recorded", 140, 150), Part("operators b", 150, 200)));
}

TEST(CriticalPath, WithoutLaunchesTheTimeBetweenWorkIsNotRecorded) {
  TraceBuilder builder;
  builder.kernel("a", 0, 100, kNoCorrelation, 0, 7);
  builder.kernel("b", 110, 100, kNoCorrelation, 0, 8);
  EXPECT_THAT(parts_of(builder, {0, 230}),
              ElementsAre(Part("gpu compute a", 0, 100), Part("not recorded b", 100, 110),
                          Part("gpu compute b", 110, 210), Part("not recorded", 210, 230)));
}

TEST(CriticalPath, ADeviceThatComesLateIsApartFromTheLaunch) {
  TraceBuilder builder;
  builder.launch(0, 5'000, "first", 10'000, 100'000, 1);
  builder.launch(200'000, 5'000, "second", 211'000, 100'000, 2);
  builder.launch(400'000, 5'000, "late", 2'000'000, 100'000, 3);
  const std::vector<Part> parts = parts_of(builder, {0, 2'100'000});
  EXPECT_THAT(parts, Contains(Part("launch cudaLaunchKernel", 400'000, 411'000)));
  EXPECT_THAT(parts, Contains(Part("device late late", 411'000, 2'000'000)));
  builder.trace.events.duration_ns[4] = 1'595'000;
  EXPECT_THAT(parts_of(builder, {0, 2'100'000}),
              Contains(Part("launch cudaLaunchKernel", 400'000, 2'000'000)));
}

TEST(CriticalPath, ALaunchIntoAFullQueueLeadsToTheWorkThatMadeRoom) {
  TraceBuilder builder;
  const auto start_of = [](std::int64_t i) { return 10'000 + 100'000 * i; };
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < 600; ++i) {
    const std::int64_t begin = end + 2'000;
    end = std::max(begin + 4'000, i < 256 ? 0 : start_of(i - 256) + 1'000);
    builder.launch(begin, end - begin, "gemm", start_of(i), 99'000, i + 1);
  }
  builder.op("long", end, 40'000'000);
  builder.launch(end + 40'000'000, 4'000, "last", end + 40'006'000, 99'000, 601);
  const Span window{0, end + 40'004'000};
  expect_tiled(builder.trace, window);
  const std::vector<Part> parts = parts_of(builder, window);
  EXPECT_THAT(parts, Contains(Part("gpu compute gemm", start_of(342), start_of(343) - 1'000)));
  EXPECT_THAT(parts, Contains(Part("launch cudaLaunchKernel", start_of(343), end)));
  EXPECT_THAT(parts, Contains(Part("operators long", end, end + 40'000'000)));
}

TEST(CriticalPath, RandomTracesAreFilledWithoutHoleOrOverlap) {
  std::mt19937 random(7);  // NOLINT: a fixed seed
  const auto upto = [&](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  const char* const kinds[] = {"Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event"};
  const char* const calls[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery",
                               "cudaLaunchKernel",      "cudaMemcpyAsync",       "cudaMalloc"};
  for (int round = 0; round < 500; ++round) {
    TraceBuilder builder;
    for (int i = 0; i < 12; ++i) {
      builder.op("op", upto(200), upto(100), -1, std::to_string(upto(2)));
      builder.runtime(calls[upto(6)], upto(200), upto(40), upto(10), std::to_string(upto(2)));
      builder.kernel(upto(3) == 0 ? "ncclKernel" : "gemm", upto(300), upto(60), upto(10),
                     static_cast<std::int32_t>(upto(2)), 7 + upto(2));
      if (upto(4) == 0)
        builder.gpu(Category::kGpuMemcpy, "Memcpy DtoH (Device -> Pageable)", upto(300), upto(60), upto(10));
      if (round % 3 == 0) continue;
      builder.sync(kinds[upto(4)], upto(200), upto(40), upto(10), 0, 7 + upto(2), 7 + upto(2), upto(10));
    }
    for (const Span window : {Span{0, 400}, Span{50, 150}, Span{100, 100}, Span{-50, 20}, Span{350, 500}})
      expect_tiled(builder.trace, window);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

double value_of(const AnalysisResult& result, const std::string& metric) {
  const auto found = std::ranges::find(result.headlines, metric, &Headline::metric);
  return found == result.headlines.end() ? -1 : found->value;
}

/// A kernel of 1000 ns at 20, launched at 0; a call [100, 1100] that waits for it; an op of 50 ns.
TraceBuilder waiting() {
  TraceBuilder builder;
  builder.launch(0, 10, "gemm", 20, 1000, 1);
  builder.runtime("cudaDeviceSynchronize", 100, 1000, 2);
  builder.op("after", 1200, 50);
  return builder;
}

using CriticalPathAnalysis = BuiltTrace;

TEST_F(CriticalPathAnalysis, TakesTheMiddleStepOrTheOneAskedFor) {
  for (int step = 0; step < 3; ++step) {
    builder.step(10 + step, 1000 * step, 1000);
    builder.op("op", 1000 * step + 100, 100 * (step + 1));
  }
  std::map<std::string, std::string> options;
  const auto times = [&] {
    const AnalysisResult result = run("critical-path", options);
    return std::pair(value_of(result, "critical_path"), value_of(result, "critical_path_operators"));
  };
  EXPECT_EQ(times(), std::pair(1000.0, 200.0));
  options["step"] = "12";
  EXPECT_EQ(times(), std::pair(1000.0, 300.0));
  options["step"] = "all";
  EXPECT_EQ(times(), std::pair(3000.0, 600.0));
  options["step"] = "99";
  EXPECT_THROW(run("critical-path", options), Error);
}

TEST_F(CriticalPathAnalysis, TakesAnAnnotation) {
  builder.annotation("[measure|forward]", 0, 100);
  builder.op("op", 10, 20);
  builder.annotation("[measure|forward]", 1000, 100);
  builder.op("op", 1010, 30);
  std::map<std::string, std::string> options;
  options["annotation"] = "measure";
  const auto operators = [&] { return value_of(run("critical-path", options), "critical_path_operators"); };
  options["step"] = "0";
  EXPECT_EQ(operators(), 20);
  options["step"] = "1";
  EXPECT_EQ(operators(), 30);
  options["step"] = "2";
  EXPECT_THROW(run("critical-path", options), Error);
  options["annotation"] = "nowhere";
  EXPECT_THROW(run("critical-path", options), Error);
}

TEST_F(CriticalPathAnalysis, ClassesAndHeadlinesSumToThePath) {
  builder = waiting();
  const AnalysisResult result = run_analysis("critical-path", builder.trace, {{"step", "all"}});
  EXPECT_EQ(number(result, "path", 0, "path_ns"), 1250);
  const DataTable& classes = table_of(result, "classes");
  std::map<std::string, double> times;
  double sum = 0;
  for (std::size_t row = 0; row < classes.rows.size(); ++row) {
    times[std::get<std::string>(cell(classes, row, "class"))] = number(classes, row, "time_ns");
    sum += number(classes, row, "time_ns");
  }
  EXPECT_EQ(times, (std::map<std::string, double>{{"launch", 20},
                                                  {"gpu compute", 1000},
                                                  {"synchronisation", 80},
                                                  {"not recorded", 100},
                                                  {"operators", 50}}));
  EXPECT_EQ(sum, 1250);
  double of_classes = 0;
  for (const Headline& headline : result.headlines) of_classes += headline.value;
  EXPECT_EQ(of_classes, 2 * value_of(result, "critical_path"));
}

TEST_F(CriticalPathAnalysis, WithoutStepsTakesTheWindowOfFindings) {
  builder = waiting();
  builder.runtime("cudaProfilerStart", -9'000'000'000, 8'000'000'000);
  const AnalysisResult result = run_analysis("critical-path", builder.trace);
  const Span window = TraceIndex(builder.trace).window();
  EXPECT_EQ(value_of(result, "critical_path"), window.end - window.start);
  EXPECT_LT(value_of(result, "critical_path"), 2000);
}

TEST_F(CriticalPathAnalysis, TheOverlayMarksThePathInAChromeTrace) {
  builder = waiting();
  builder.op("not \"on\" it", 0, 3, -1, "2");
  const AnalysisResult result = run("critical-path", {{"step", "all"}, {"overlay", "out.json"}});
  ASSERT_EQ(result.files.size(), 1U);
  EXPECT_EQ(result.files[0].path, "out.json");
  const Json overlay = parse_json(result.files[0].content, "overlay");
  std::map<std::string, int> critical, arrows;
  double sliced_us = 0;
  for (const Json& event : overlay["traceEvents"]) {
    const std::string phase = event["ph"].string();
    if (phase == "s" || phase == "f") ++arrows[phase];
    if (phase != "X") continue;
    if (event["cat"] == "critical_path") {
      sliced_us += event["dur"].get<double>();
    } else {
      critical[event["name"].get<std::string>()] = event["args"]["critical"].get<int>();
    }
  }
  EXPECT_EQ(critical, (std::map<std::string, int>{{"cudaLaunchKernel", 1},
                                                  {"gemm", 1},
                                                  {"cudaDeviceSynchronize", 1},
                                                  {"after", 1},
                                                  {"not \"on\" it", 0}}));
  EXPECT_EQ(arrows, (std::map<std::string, int>{{"s", 2}, {"f", 2}}));
  EXPECT_NEAR(sliced_us, 1.250, 1e-9);
}

TEST_F(CriticalPathAnalysis, SaysThatThereIsNothing) {
  const AnalysisResult result = run_analysis("critical-path", builder.trace);
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(result.notes.empty());
}

TEST_F(CriticalPathAnalysis, WithoutStepsSaysHowToMarkThemInTheWordsOfTheWriter) {
  for (const auto& [writer, words] : {std::pair{Writer::kJax, "StepTraceAnnotation"},
                                      {Writer::kNsight, "NVTX range"},
                                      {Writer::kRocprof, "roctx"}}) {
    TraceBuilder built;
    built.trace.writer = writer;
    built.op("aten::mm", 0, 20'000);
    built.launch(5'000, 5'000, "sgemm", 12'000, 50'000, 1);
    built.runtime("cudaDeviceSynchronize", 21'000, 42'000, 2);
    std::string notes;
    for (const std::string& note : run_analysis("critical-path", built.trace).notes) notes += note + "\n";
    EXPECT_THAT(
        notes,
        HasSubstr(std::string("no steps in the file: the path covers all GPU work and its launches; ")));
    EXPECT_THAT(notes, HasSubstr(words));
    EXPECT_THAT(notes, Not(HasSubstr("ProfilerStep")));
    EXPECT_THAT(notes, Not(HasSubstr("torch.profiler")));
  }
}

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
  // Rank 0 has the second only; rank 1 begins after the others wait for it.
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
  EXPECT_THAT(result.answer[0], HasSubstr("is on rank 0"));
  EXPECT_THAT(result.answer[0], HasSubstr("changes rank 1 time"));
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
  EXPECT_THAT(cut.notes, Contains(HasSubstr("has 2 stretches; the longest 1")));
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
  EXPECT_THAT(result.notes, Contains(HasSubstr("no collective appears")));
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
