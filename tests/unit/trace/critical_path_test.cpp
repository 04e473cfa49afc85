// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/critical_path.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/index/trace_index.h"
#include "trace_builder.h"

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

using ::testing::ElementsAre;

TEST(CriticalPath, GoesBackOverLaunchesWorkAndWaits) {
  TraceBuilder builder;
  builder.op("aten::first", 0, 30'000);
  builder.runtime("cudaLaunchKernel", 10'000, 10'000, 1);
  builder.kernel("first", 30'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 940'000);
  builder.op("aten::work", 1'040'000, 310'000);
  builder.runtime("cudaLaunchKernel", 1'340'000, 10'000, 2);
  builder.kernel("second", 1'360'000, 1'000'000, 2);
  builder.runtime("cudaLaunchKernel", 1'360'000, 10'000, 3);
  builder.kernel("third", 2'361'000, 500'000, 3);
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
  // A later window cuts what runs at its start.
  EXPECT_EQ(parts_of(builder, {50'000, 2'000'000}).front(), Part("gpu compute first", 50'000, 1'030'000));
}

TEST(CriticalPath, WorkFollowsTheOtherStreamThatItWaitedFor) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 5'000, 1);
  builder.kernel("ncclDevKernel_AllReduce", 10'000, 900'000, 1, 0, 20);
  builder.runtime("cudaLaunchKernel", 10'000, 5'000, 2);
  builder.kernel("beside", 20'000, 100'000, 2);
  builder.runtime("cudaLaunchKernel", 20'000, 5'000, 3);
  builder.kernel("after", 912'000, 100'000, 3);
  EXPECT_THAT(parts_of(builder, {0, 1'000'000}),
              ElementsAre(Part("launch cudaLaunchKernel", 0, 10'000),
                          Part("gpu communication ncclDevKernel_AllReduce", 10'000, 910'000),
                          Part("not the host after", 910'000, 912'000),
                          Part("gpu compute after", 912'000, 1'012'000)));
}

TEST(CriticalPath, HostTimeIsTheLaunchingThreadsUntilItBeginsAndAnothersBefore) {
  TraceBuilder builder;
  builder.op("forward", 0, 100'000);
  builder.runtime("cudaLaunchKernel", 80'000, 5'000, 1);
  builder.kernel("forward kernel", 90'000, 10'000, 1);
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
  builder.runtime("cudaLaunchKernel", 0, 5'000, 1);
  builder.kernel("first", 10'000, 100'000, 1);
  builder.runtime("cudaLaunchKernel", 200'000, 5'000, 2);
  builder.kernel("second", 211'000, 100'000, 2);
  builder.runtime("cudaLaunchKernel", 400'000, 5'000, 3);
  builder.kernel("late", 2'000'000, 100'000, 3);
  const std::vector<Part> parts = parts_of(builder, {0, 2'100'000});
  EXPECT_THAT(parts, testing::Contains(Part("launch cudaLaunchKernel", 400'000, 411'000)));
  EXPECT_THAT(parts, testing::Contains(Part("device late late", 411'000, 2'000'000)));
  // A launch call that takes long is the launch, not the device.
  builder.trace.events.duration_ns[4] = 1'595'000;
  EXPECT_THAT(parts_of(builder, {0, 2'100'000}),
              testing::Contains(Part("launch cudaLaunchKernel", 400'000, 2'000'000)));
}

TEST(CriticalPath, ALaunchIntoAFullQueueLeadsToTheWorkThatMadeRoom) {
  TraceBuilder builder;
  const auto start_of = [](std::int64_t i) { return 10'000 + 100'000 * i; };
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < 600; ++i) {
    const std::int64_t begin = end + 2'000;
    end = std::max(begin + 4'000, i < 256 ? 0 : start_of(i - 256) + 1'000);
    builder.runtime("cudaLaunchKernel", begin, end - begin, i + 1);
    builder.kernel("gemm", start_of(i), 99'000, i + 1);
  }
  builder.op("long", end, 40'000'000);
  builder.runtime("cudaLaunchKernel", end + 40'000'000, 4'000, 601);
  builder.kernel("last", end + 40'006'000, 99'000, 601);
  const Span window{0, end + 40'004'000};
  expect_tiled(builder.trace, window);
  const std::vector<Part> parts = parts_of(builder, window);
  EXPECT_THAT(parts, testing::Contains(Part("gpu compute gemm", start_of(342), start_of(343) - 1'000)));
  EXPECT_THAT(parts, testing::Contains(Part("launch cudaLaunchKernel", start_of(343), end)));
  EXPECT_THAT(parts, testing::Contains(Part("operators long", end, end + 40'000'000)));
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
      SyncDetail& sync = builder.sync(kinds[upto(4)], upto(200), upto(40), upto(10), 0, 7 + upto(2));
      sync.wait_on_stream = 7 + upto(2);
      sync.wait_on_event_record_correlation = upto(10);
    }
    for (const Span window : {Span{0, 400}, Span{50, 150}, Span{100, 100}, Span{-50, 20}, Span{350, 500}})
      expect_tiled(builder.trace, window);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

const Analysis& critical_path_analysis() {
  const Analysis* found = find_analysis("critical-path");
  EXPECT_NE(found, nullptr);
  return *found;
}

double value_of(const AnalysisResult& result, const std::string& metric) {
  const auto found = std::ranges::find(result.headlines, metric, &Headline::metric);
  return found == result.headlines.end() ? -1 : found->value;
}

/// A kernel of 1000 ns at 20, launched at 0; then a call [100, 1100] that waits for it, and an op of 50 ns.
TraceBuilder waiting() {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10, 1);
  builder.kernel("gemm", 20, 1000, 1);
  builder.runtime("cudaDeviceSynchronize", 100, 1000, 2);
  builder.op("after", 1200, 50);
  return builder;
}

TEST(CriticalPathAnalysis, TakesTheMiddleStepOrTheOneAskedFor) {
  TraceBuilder builder;
  for (int step = 0; step < 3; ++step) {
    builder.step(10 + step, 1000 * step, 1000);
    builder.op("op", 1000 * step + 100, 100 * (step + 1));
  }
  AnalysisOptions options;
  const auto times = [&] {
    const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(builder.trace), options);
    return std::pair(value_of(result, "critical_path"), value_of(result, "critical_path_operators"));
  };
  EXPECT_EQ(times(), std::pair(1000.0, 200.0));
  options.set("step", "12");
  EXPECT_EQ(times(), std::pair(1000.0, 300.0));
  options.set("step", "all");
  EXPECT_EQ(times(), std::pair(3000.0, 600.0));
  options.set("step", "99");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
}

TEST(CriticalPathAnalysis, TakesAnAnnotation) {
  TraceBuilder builder;
  builder.annotation("[measure|forward]", 0, 100);
  builder.op("op", 10, 20);
  builder.annotation("[measure|forward]", 1000, 100);
  builder.op("op", 1010, 30);
  AnalysisOptions options;
  options.set("annotation", "measure");
  const auto operators = [&] {
    return value_of(critical_path_analysis().analyze(TraceIndex(builder.trace), options),
                    "critical_path_operators");
  };
  options.set("step", "0");
  EXPECT_EQ(operators(), 20);
  options.set("step", "1");
  EXPECT_EQ(operators(), 30);
  options.set("step", "2");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
  options.set("annotation", "nowhere");
  EXPECT_THROW(critical_path_analysis().analyze(TraceIndex(builder.trace), options), Error);
}

TEST(CriticalPathAnalysis, ClassesAndHeadlinesSumToThePath) {
  const TraceBuilder builder = waiting();
  const AnalysisResult result = run_analysis("critical-path", builder.trace, {{"step", "all"}});
  EXPECT_EQ(number(table_of(result, "path"), 0, "path_ns"), 1250);
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

TEST(CriticalPathAnalysis, WithoutStepsTakesTheWindowOfFindings) {
  TraceBuilder builder = waiting();
  builder.runtime("cudaProfilerStart", -9'000'000'000, 8'000'000'000);
  const AnalysisResult result = run_analysis("critical-path", builder.trace);
  const Span window = TraceIndex(builder.trace).window();
  EXPECT_EQ(value_of(result, "critical_path"), window.end - window.start);
  EXPECT_LT(value_of(result, "critical_path"), 2000);
}

TEST(CriticalPathAnalysis, TheOverlayMarksThePathInAChromeTrace) {
  TraceBuilder builder = waiting();
  builder.op("not \"on\" it", 0, 3, -1, "2");
  AnalysisOptions options;
  options.set("step", "all");
  options.set("overlay", "out.json");
  const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(builder.trace), options);
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

TEST(CriticalPathAnalysis, SaysThatThereIsNothing) {
  const TraceBuilder builder;
  const AnalysisResult result = critical_path_analysis().analyze(TraceIndex(builder.trace), {});
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(result.notes.empty());
}

TEST(CriticalPathAnalysis, WithoutStepsSaysHowToMarkThemInTheWordsOfTheWriter) {
  for (const auto& [writer, words] : {std::pair{Writer::kJax, "StepTraceAnnotation"},
                                      {Writer::kNsight, "NVTX range"},
                                      {Writer::kRocprof, "roctx"}}) {
    TraceBuilder builder;
    builder.trace.writer = writer;
    builder.op("aten::mm", 0, 20'000);
    builder.runtime("cudaLaunchKernel", 5'000, 5'000, 1);
    builder.kernel("sgemm", 12'000, 50'000, 1);
    builder.runtime("cudaDeviceSynchronize", 21'000, 42'000, 2);
    std::string notes;
    for (const std::string& note : run_analysis("critical-path", builder.trace).notes) notes += note + "\n";
    EXPECT_THAT(notes, testing::HasSubstr(std::string(
                           "no steps in the file: the path covers all GPU work and its launches; ")));
    EXPECT_THAT(notes, testing::HasSubstr(words));
    EXPECT_THAT(notes, testing::Not(testing::HasSubstr("ProfilerStep")));
    EXPECT_THAT(notes, testing::Not(testing::HasSubstr("torch.profiler")));
  }
}

}  // namespace
}  // namespace headroom::trace
