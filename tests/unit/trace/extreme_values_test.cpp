// SPDX-License-Identifier: Apache-2.0
// A file may say anything of an event that its numbers can hold. Built with the sanitizers, this shows that
// no analysis of the devices leaves what is defined on it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "headroom/base/json.h"
#include "headroom/trace/merge/rank_clocks.h"
#include "headroom/trace/report/trace_diff.h"
#include "headroom/trace/timeline/job_timeline.h"
#include "headroom/trace/timeline/rank_timeline.h"
#include "headroom/trace/timeline/timeline_json.h"
#include "result_view.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
// The readers keep times, durations and the base time within 2^61 each.
constexpr std::int64_t kFar = std::int64_t{1} << 61;

Trace extreme_trace() {
  TraceBuilder builder;
  std::int64_t correlation = 1;
  for (const std::int64_t start : {-kFar, std::int64_t{0}, kFar, kFar}) {
    for (int device = 0; device < 4; ++device) {
      builder.runtime("cudaGraphLaunch", -start, kFar, correlation);
      builder.kernel("gemm", start, kFar, correlation, device, device);
      builder.kernel("ncclKernel", start, kFar, correlation, device, kMost);
      builder.runtime("cudaLaunchKernel", start, kFar, ++correlation);
      builder.kernel("gemm", -start, 0, correlation, device, kLeast);
      GpuDetail& copy = builder.copy(-start, kFar, ++correlation, device);
      copy.bytes = 1e308;
      copy.bandwidth_gb_s = 1e308;
      ++correlation;
    }
  }
  for (const std::int64_t bytes : {kMost, kMost, kLeast, kLeast, std::int64_t{0}})
    builder.trace.memory.push_back(
        {bytes, -5, 3, bytes, 7, kMost, kMost, kNone, builder.trace.names.intern("a.py(1): f;b.py(2): g")});
  builder.trace.memory.push_back({0, 1, 0, 512, 7, kLeast, 7});
  for (int i = 0; i < 12; ++i) builder.op("aten::mm", -kFar + i, kFar - i, i);
  for (int i = 0; i < 12; ++i) builder.op("aten::add", -kFar + 20, kFar - 100, i, "2");
  for (const std::int64_t duration : {kFar, std::int64_t{0}})
    builder.event(Category::kPython, "a.py(1): f", -kFar, duration,
                  builder.thread(TraceBuilder::kHostPid, "1"));
  return std::move(builder.trace);
}

TEST(ExtremeValues, NoAnalysisOfDevicesFails) {
  const Trace trace = extreme_trace();
  for (const char* name : {"idle", "launch", "queue", "memory", "overlap"}) {
    AnalysisOptions options;
    options.top = 0;
    for (const char* flag : {"each", "series"}) options.set(flag, "");
    const ResultView view = view_analysis(name, trace, options);
    EXPECT_FALSE(view.result.tables.empty()) << name;
    for (const Headline& headline : view.result.headlines)
      EXPECT_FALSE(std::isnan(headline.value)) << name << " " << headline.metric;
  }
}

TEST(ExtremeValues, NoOtherAnalysisFails) {
  const Trace trace = extreme_trace();
  for (const Analysis* analysis : analyses()) {
    const AnalysisResult result = analysis->analyze(trace, {});
    EXPECT_FALSE(result.tables.empty()) << analysis->name;
    const std::vector<RankResult> ranks{{"a", 0, result}, {"b", 1, result}};
    if (analysis->combine != nullptr) {
      EXPECT_FALSE(analysis->combine(ranks, {}).tables.empty()) << analysis->name;
    }
  }
  TraceProfile profile = profile_of(trace);
  add(profile, profile_of(trace));
  EXPECT_EQ(profile.kernels.at("gemm").total_ns, kMost);
  EXPECT_FALSE(diff(profile, {}).tables.empty());
}

TEST(ExtremeValues, ATimelineIsDrawnOfThem) {
  const Trace trace = extreme_trace();
  for (const std::size_t slices : {1U, 20U, 10'000U}) {
    TimelineLimits limits;
    limits.slices = slices;
    std::vector<RankClock> clocks;
    std::vector<RankTimeline> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      clocks.push_back(rank_clock(trace));
      ranks.push_back(rank_timeline(trace, clocks.back().calls, limits));
      EXPECT_EQ(ranks.back().events_left_out, 0U);
    }
    const JobTimeline job = job_timeline(std::move(ranks), job_clocks(std::move(clocks)));
    std::uint64_t events = 0;
    for (const Track& track : job.ranks.front().tracks) {
      for (const Lane& lane : track.lanes)
        events = std::accumulate(lane.count.begin(), lane.count.end(), events);
    }
    EXPECT_EQ(events, job.ranks.front().events);
    EXPECT_TRUE(is_json(timeline_json(job)));
  }
}

TEST(ExtremeValues, OptionsBeyondAllTimes) {
  TraceBuilder builder;
  builder.kernel("a", 0, 1);
  builder.kernel("b", 5, 1);
  EXPECT_EQ(view_analysis("idle", builder.trace, option("threshold", "1e300s"))
                .integer("streams", 0, "kernel_wait_gaps"),
            1);
  EXPECT_FALSE(view_analysis("launch", builder.trace, option("call-cutoff", "1e300s")).result.tables.empty());
}

}  // namespace
}  // namespace headroom::trace
