// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "analysis_run.h"
#include "headroom/base/json.h"
#include "headroom_trace/merge/trace_merge.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/timeline/rank_timeline.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom::trace {
namespace {

RankTimeline timeline_of(const Trace& trace, std::size_t slices = 1000) {
  TimelineLimits limits;
  limits.slices = slices;
  return rank_timeline(trace, TraceIndex(trace).calls(), limits);
}

const Track* track_named(const RankTimeline& timeline, const std::string& part) {
  for (const Track& track : timeline.tracks) {
    if (track.name.find(part) != std::string::npos) return &track;
  }
  return nullptr;
}

/// "name start+duration", with "xcount/busy" for blocks.
std::vector<std::string> slices_of(const RankTimeline& timeline, const Lane& lane) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    std::string text = timeline.names.at(lane.name[i]).text + " " + std::to_string(lane.start_ns[i]) + "+" +
                       std::to_string(lane.duration_ns[i]);
    if (lane.count[i] > 1)
      text += " x" + std::to_string(lane.count[i]) + "/" + std::to_string(lane.busy_ns[i]);
    texts.push_back(std::move(text));
  }
  return texts;
}

using Timeline = BuiltTrace;

TEST_F(Timeline, EachEventIsASliceOfItsTrackAtItsDepth) {
  builder.step(3, 0, 1000);
  builder.op("aten::linear", 100, 400);
  builder.op("aten::t", 100, 50);
  builder.op("aten::addmm", 200, 250);
  builder.runtime("cudaLaunchKernel", 300, 20, 1);
  builder.op("aten::relu", 600, 40);
  builder.kernel("gemm", 500, 200, 1);
  builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 700, 100, kNoCorrelation, 0, 20);
  builder.copy(650, 30, kNoCorrelation, 1, 7);
  builder.sync("Stream Sync", 800, 90, kNoCorrelation, 0, 7);
  const RankTimeline timeline = timeline_of(builder.trace);
  std::vector<std::string> tracks;
  for (const Track& track : timeline.tracks)
    tracks.push_back(std::string(to_string(track.kind)) + " " + std::to_string(track.device) + " " +
                     track.name);
  EXPECT_THAT(tracks, ElementsAre("steps -1 steps", "collectives 0 collectives", "stream 0 stream 7",
                                  "stream 0 stream 20", "waits 0 synchronisations", "stream 1 stream 7",
                                  "thread -1 thread 1, python 1000"));
  const Track& host = timeline.tracks.back();
  ASSERT_EQ(host.lanes.size(), 4U);
  EXPECT_THAT(slices_of(timeline, host.lanes[0]), ElementsAre("ProfilerStep#3 0+1000"));
  EXPECT_THAT(slices_of(timeline, host.lanes[1]), ElementsAre("aten::linear 100+400", "aten::relu 600+40"));
  EXPECT_THAT(slices_of(timeline, host.lanes[2]), ElementsAre("aten::t 100+50", "aten::addmm 200+250"));
  EXPECT_THAT(slices_of(timeline, host.lanes[3]), ElementsAre("cudaLaunchKernel 300+20"));
  EXPECT_EQ(std::tuple(host.events, host.busy_ns), std::tuple(6U, 1000 + 400 + 50 + 250 + 20 + 40));
  EXPECT_THAT(slices_of(timeline, timeline.tracks[1].lanes[0]),
              ElementsAre("all_reduce, group stream 20 700+100"));
  EXPECT_EQ(std::tuple(timeline.shortest_ns, timeline.start_ns, timeline.end_ns), std::tuple(0, 0, 1000));
  std::map<std::string, NameKind> kinds;
  for (const TimelineName& name : timeline.names) kinds[name.text] = name.kind;
  EXPECT_EQ(kinds.at("gemm"), NameKind::kCompute);
  EXPECT_EQ(kinds.at("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), NameKind::kCommunication);
  EXPECT_EQ(kinds.at("Memcpy HtoD (Pinned -> Device)"), NameKind::kMemory);
  EXPECT_EQ(kinds.at("aten::t"), NameKind::kOperator);
  EXPECT_EQ(kinds.at("cudaLaunchKernel"), NameKind::kCall);
  EXPECT_EQ(kinds.at("Stream Sync"), NameKind::kWait);
}

TEST_F(Timeline, WorkAtOnceOnAStreamIsSideBySide) {
  builder.kernel("a", 0, 100);
  builder.kernel("b", 50, 100);
  builder.kernel("c", 100, 10);  // the first lane is free again
  builder.kernel("d", 120, 10);
  const RankTimeline timeline = timeline_of(builder.trace);
  ASSERT_EQ(timeline.tracks[0].lanes.size(), 2U);
  EXPECT_THAT(slices_of(timeline, timeline.tracks[0].lanes[0]),
              ElementsAre("a 0+100", "c 100+10", "d 120+10"));
  EXPECT_THAT(slices_of(timeline, timeline.tracks[0].lanes[1]), ElementsAre("b 50+100"));
}

TEST_F(Timeline, ShortNeighboursAreOneBlockThatSaysWhatTheyAre) {
  builder.kernel("short", 0, 5);
  builder.kernel("other", 8, 6);
  builder.kernel("short", 15, 5);
  builder.kernel("long", 25, 100);
  builder.kernel("short", 130, 5);
  const RankTimeline timeline = timeline_of(builder.trace, 3);
  EXPECT_THAT(slices_of(timeline, timeline.tracks[0].lanes[0]),
              ElementsAre("short 0+20 x3/16", "long 25+100", "short 130+5"));
  // The longest time of two joined neighbours, with their gap.
  EXPECT_EQ(std::tuple(timeline.shortest_ns, timeline.events, timeline.slices), std::tuple(7, 5U, 3U));
}

TEST_F(Timeline, NeighboursFarApartAreNotOneBlock) {
  for (const std::int64_t start : {0, 10, 1000, 1010}) builder.kernel("k", start, 5);
  const RankTimeline timeline = timeline_of(builder.trace, 2);
  EXPECT_THAT(slices_of(timeline, timeline.tracks[0].lanes[0]),
              ElementsAre("k 0+15 x2/10", "k 1000+15 x2/10"));
}

std::vector<LaneEvent> random_lane(std::mt19937& random, std::size_t size) {
  std::vector<LaneEvent> events;
  std::int64_t at = 0;
  std::uniform_int_distribution<int> bits(0, 12);
  for (std::size_t i = 0; i < size; ++i) {
    at += static_cast<std::int64_t>(random() % (1U << bits(random)));
    const auto duration = static_cast<std::int64_t>(random() % (1U << bits(random)));
    events.push_back({at, duration, static_cast<std::uint32_t>(random() % 5)});
    at += duration;
  }
  return events;
}

std::size_t slices_at(std::span<const EventLane> lanes, std::int64_t shortest_ns) {
  SliceBlocks blocks(shortest_ns, 5);
  std::size_t slices = 0;
  for (const EventLane lane : lanes) slices += blocks.lane(lane).size();
  return slices;
}

TEST(SliceBudget, IsTheLeastTimeForWhichItHolds) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::vector<LaneEvent> a = random_lane(random, 40), b = random_lane(random, 3), none;
    const EventLane lanes[] = {a, b, none};
    for (const std::size_t budget : {1U, 2U, 5U, 17U, 30U, 42U, 43U, 100U}) {
      const std::int64_t shortest = shortest_slice_ns(lanes, budget);
      EXPECT_LE(slices_at(lanes, shortest), std::max<std::size_t>(budget, 2)) << budget;
      if (shortest > 0 && budget >= 2) {
        EXPECT_GT(slices_at(lanes, shortest - 1), budget) << shortest;
      }
      EXPECT_EQ(shortest == 0, budget >= 43);
    }
  }
}

TEST(SliceBudget, SlicesAreEventsOrTheTrueExtentsOfTheirs) {
  std::mt19937 random(8);
  for (int round = 0; round < 50; ++round) {
    const std::vector<LaneEvent> events = random_lane(random, 60);
    const EventLane lanes[] = {events};
    const std::int64_t shortest = shortest_slice_ns(lanes, 20);
    const Lane lane = SliceBlocks(shortest, 5).lane(events);
    std::size_t next = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const EventLane block = EventLane(events).subspan(next, lane.count[i]);
      next += lane.count[i];
      EXPECT_EQ(lane.start_ns[i], block.front().start_ns);
      EXPECT_EQ(lane.start_ns[i] + lane.duration_ns[i], block.back().start_ns + block.back().duration_ns);
      std::map<std::uint32_t, std::int64_t> times;
      std::int64_t busy = 0;
      for (const LaneEvent& event : block) {
        busy += event.duration_ns;
        times[event.name] += event.duration_ns;
        EXPECT_TRUE(block.size() == 1 || event.duration_ns < shortest);
      }
      EXPECT_EQ(lane.busy_ns[i], busy);
      for (const auto& [name, time] : times) EXPECT_LE(time, times.at(lane.name[i]));
    }
    EXPECT_EQ(next, events.size());
  }
}

TEST(SliceBudget, TimesOfDamagedFilesEnd) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<LaneEvent> events{
      {std::numeric_limits<std::int64_t>::min(), kMost, 0}, {0, kMost, 0}, {kMost, kMost, 0}, {kMost, 0, 0}};
  const EventLane lanes[] = {events};
  const std::int64_t shortest = shortest_slice_ns(lanes, 1);
  EXPECT_EQ(SliceBlocks(shortest, 1).lane(events).size(), 1U);
}

TEST_F(Timeline, AMillionEventsKeepToTheBudgetAndTheirTime) {
  std::mt19937 random(9);
  std::int64_t at = 0;
  std::map<std::string, std::int64_t> busy;
  const std::uint32_t host = builder.thread("1000", "1"), worker = builder.thread("1000", "2");
  for (int i = 0; i < 250'000; ++i) {
    const std::int64_t outer = 200 + static_cast<std::int64_t>(random() % 20'000);
    builder.event(Category::kCpuOp, "outer", at, outer, host);
    builder.event(Category::kCpuOp, "inner", at + 50, outer - 100, host);
    builder.event(Category::kPython, "f", at, 7, worker);
    builder.kernel("k" + std::to_string(i % 100), at + 100, 100);
    busy["thread 1,"] += outer + outer - 100;
    busy["thread 2,"] += 7;
    busy["stream 7"] += 100;
    at += outer;
  }
  const RankTimeline timeline = timeline_of(builder.trace, 20'000);
  EXPECT_EQ(timeline.events, 1'000'000U);
  EXPECT_LE(timeline.slices, 20'000U);
  EXPECT_GT(timeline.slices, 19'000U);
  EXPECT_GT(timeline.shortest_ns, 0);
  for (const auto& [name, time] : busy) {
    const Track* track = track_named(timeline, name);
    ASSERT_NE(track, nullptr) << name;
    std::int64_t of_slices = 0;
    for (const Lane& lane : track->lanes) {
      for (const std::int64_t one : lane.busy_ns) of_slices += one;
    }
    EXPECT_EQ(of_slices, time) << name;
    EXPECT_EQ(track->busy_ns, time) << name;
  }
}

TEST_F(Timeline, OfTooManyTracksTheBusiestStay) {
  for (int stream = 1; stream <= 5; ++stream) builder.kernel("k", 0, 10 * stream, kNoCorrelation, 0, stream);
  builder.step(1, 0, 5);
  TimelineLimits limits;
  limits.tracks = 3;
  const RankTimeline timeline = rank_timeline(builder.trace, {}, limits);
  ASSERT_EQ(timeline.tracks.size(), 3U);
  EXPECT_EQ(timeline.tracks[0].name, "steps");
  EXPECT_EQ(timeline.tracks[1].name, "stream 4");
  EXPECT_EQ(timeline.tracks[2].name, "stream 5");
  EXPECT_EQ(timeline.tracks_left_out, 4U);  // three streams and the step's thread
  EXPECT_EQ(timeline.events_left_out, 4U);
}

TEST_F(Timeline, DeepNestsEndInTheLastLane) {
  for (int depth = 0; depth < 300; ++depth) builder.op("f", depth, 1000 - 2 * depth);
  const RankTimeline timeline = timeline_of(builder.trace);
  ASSERT_EQ(timeline.tracks[0].lanes.size(), kMaxLanes);
  EXPECT_EQ(timeline.tracks[0].lanes.back().size(), 300 - kMaxLanes + 1);
}

TEST_F(Timeline, AnEmptyTraceHasNoTracks) {
  const RankTimeline timeline = timeline_of(Trace());
  EXPECT_THAT(timeline.tracks, IsEmpty());
  EXPECT_THAT(timeline.counters, IsEmpty());
  EXPECT_EQ(timeline.end_ns, 0);
}

TEST(Counters, BucketsKeepTheLeastTheMostAndTheLast) {
  Counter counter;
  const std::vector<CounterPoint> points{{0, 4}, {20, 9}, {25, 1}, {29, 2}, {95, 7}};
  fill_buckets(points, 0, {0, 99}, 10, counter);
  EXPECT_EQ(counter.bucket_ns, 10);
  EXPECT_THAT(counter.bucket, ElementsAre(0, 2, 9));
  EXPECT_THAT(counter.least, ElementsAre(4, 1, 2));
  EXPECT_THAT(counter.most, ElementsAre(4, 9, 7));
  EXPECT_THAT(counter.last, ElementsAre(4, 2, 7));
}

TEST(Counters, QueuesAndMemory) {
  TraceBuilder builder;
  for (int i = 0; i < 3; ++i) {
    builder.launch(10 * i, 5, "k", 100 + 10 * i, 10, i + 1);
  }
  const auto allocate = [&](std::int64_t at_ns, std::int64_t bytes, std::int64_t total,
                            std::int64_t reserved) {
    MemoryEvent event;
    event.at_ns = at_ns;
    event.device_type = 1;
    event.device = 0;
    event.bytes = bytes;
    event.total_allocated = total;
    event.total_reserved = reserved;
    builder.trace.memory.push_back(event);
  };
  allocate(60, -256, 756, 2048);  // out of time order in the file
  allocate(50, 512, 1012, 2048);
  const RankTimeline timeline = timeline_of(builder.trace);
  ASSERT_EQ(timeline.counters.size(), 3U);
  EXPECT_EQ(timeline.counters[0].kind, CounterKind::kQueue);
  EXPECT_EQ(timeline.counters[0].name, "stream 7");
  EXPECT_EQ(*std::ranges::max_element(timeline.counters[0].most), 3);
  EXPECT_EQ(timeline.counters[0].last.back(), 0);
  EXPECT_EQ(timeline.counters[1].kind, CounterKind::kAllocated);
  EXPECT_EQ(timeline.counters[1].name, "CUDA 0");
  EXPECT_THAT(timeline.counters[1].last, ElementsAre(1012, 756));
  EXPECT_THAT(timeline.counters[2].most, ElementsAre(2048, 2048));
}

/// A rank's clock is ahead by `ahead_ns`.
Trace rank_trace(std::int64_t rank, std::int64_t ahead_ns) {
  TraceBuilder builder;
  builder.trace.rank = rank;
  builder.trace.source = "rank" + std::to_string(rank);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t end = 10'000 * (i + 1) + ahead_ns, start = end - 1000 * (rank + 1);
    builder.collective(builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start, end - start),
                       "allreduce", "0", 2);
    builder.kernel("only of rank " + std::to_string(rank), end, 500);
  }
  return std::move(builder.trace);
}

JobTimeline job_of(std::span<const Trace> traces) {
  std::vector<RankTimeline> ranks;
  std::vector<RankClock> clocks;
  for (const Trace& trace : traces) {
    clocks.push_back(rank_clock(trace));
    ranks.push_back(rank_timeline(trace, clocks.back().calls));
  }
  return job_timeline(std::move(ranks), job_clocks(std::move(clocks)));
}

std::int64_t integer(const Json& value) {
  return static_cast<std::int64_t>(value.get<double>());
}

TEST(JobTimeline, RanksStandUnderEachOtherOnOneClock) {
  const Trace traces[] = {rank_trace(1, 0), rank_trace(0, 700)};
  const JobTimeline job = job_of(traces);
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[0].source, "rank0");
  EXPECT_EQ(job.ranks[0].offset_ns - job.ranks[1].offset_ns, 700);
  EXPECT_EQ(job.names.size(), 4U);
  const Json json = parse_json(timeline_json(job), "the timeline");
  std::vector<std::int64_t> ends;
  for (int rank = 0; rank < 2; ++rank) {
    const Json* lane = json_at(json, "/ranks/" + std::to_string(rank) + "/tracks/0/lanes/0");
    ASSERT_NE(lane, nullptr);
    ends.push_back(integer(*json_at(*lane, "/0/0")) + integer(*json_at(*lane, "/1/0")));
    EXPECT_EQ(integer(*json_at(*lane, "/1/0")), 1000 * (rank + 1));
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], 2000);
}

TEST(JobTimeline, ManyRanksKeepToTheLimitsTogether) {
  const TimelineLimits all;
  EXPECT_EQ(limits_of_rank(all, 1).slices, all.slices);
  for (const std::size_t ranks : {2U, 7U, 32U}) {
    const TimelineLimits each = limits_of_rank(all, ranks);
    EXPECT_LE(each.slices * ranks, all.slices);
    EXPECT_LE(each.tracks * ranks, all.tracks);
    EXPECT_LE(each.counter_points * ranks, all.counter_points);
  }
  EXPECT_EQ(limits_of_rank(all, 100'000).slices, 500U);
}

TEST(JobTimeline, RanksOfOtherTimesAreDrawnFromTheirStarts) {
  std::vector<Trace> traces;
  for (int rank = 0; rank < 2; ++rank) {
    TraceBuilder builder;
    builder.trace.rank = rank;
    builder.kernel("k", rank * 1'000'000'000'000, 10);
    traces.push_back(std::move(builder.trace));
  }
  const JobTimeline job = job_of(traces);
  EXPECT_EQ(job.end_ns - job.start_ns, 10);
  EXPECT_THAT(job.notes, Contains(HasSubstr("drawn from its own start")));
}

TEST(JobTimeline, NamesAreHeldToTheirBytes) {
  std::vector<RankTimeline> ranks(1);
  for (int i = 0; i < 100; ++i)
    ranks[0].names.push_back(
        {"kernel<" + std::string(999, 'x') + "é" + std::to_string(i), NameKind::kCompute});
  std::vector<RankClock> clocks(1);
  const JobTimeline job = job_timeline(std::move(ranks), job_clocks(std::move(clocks)), 10'000);
  std::size_t bytes = 0;
  for (const TimelineName& name : job.names) bytes += name.text.size();
  EXPECT_LE(bytes, 10'000U);
  EXPECT_EQ(job.names[7].text.substr(0, 7), "kernel<");
  EXPECT_THAT(job.names[7].text, HasSubstr("…x"));
  EXPECT_EQ(job.names[7].text.back(), '7');
}

TEST(TimelineJson, HasTheSlicesOfTheLanes) {
  TraceBuilder builder;
  builder.kernel("short", 1000, 5);
  builder.kernel("short", 1006, 5);
  builder.kernel("<script>\"", 1025, 100);
  builder.kernel("short", 1130, 5);
  std::vector<RankTimeline> ranks{timeline_of(builder.trace, 3)};
  const std::string text =
      timeline_json(job_timeline(std::move(ranks), job_clocks(std::vector<RankClock>(1))));
  EXPECT_THAT(text, HasSubstr("\"lanes\":[[[0,14,5],[11,100,5],[0,1,0],[0],[2],[10]]]"));
  EXPECT_THAT(text, HasSubstr("\"names\":[\"short\",\"<script>\\\"\"]"));
  EXPECT_THAT(text, HasSubstr("\"start_ns\":1000,\"length_ns\":135,"));
  EXPECT_THAT(text, HasSubstr("\"flames\":[]"));
  EXPECT_THAT(text, HasSubstr("\"shortest_ns\":6,\"events\":4,\"slices\":3,"));
}

/// "path host/device xcalls", with > in paths.
std::vector<std::string> nodes_of(const FlameTree& tree) {
  std::vector<std::string> paths, texts;
  for (const FlameNode& node : tree.nodes) {
    paths.push_back((node.parent == kNone ? "" : paths.at(node.parent) + " > ") + tree.names.at(node.name));
    texts.push_back(paths.back() + " " + std::to_string(node.host_ns) + "/" + std::to_string(node.device_ns) +
                    " x" + std::to_string(node.calls));
  }
  return texts;
}

TEST(FlameTree, CallsAreSummedByWhatTheyWereCalledFrom) {
  TraceBuilder builder;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = 1000 * step;
    builder.step(step, at, 900);
    builder.op("aten::linear", at + 100, 400);
    builder.op("aten::addmm", at + 200, 250);
    builder.runtime("cudaLaunchKernel", at + 300, 20, step + 1);
    builder.op("aten::addmm", at + 600, 40);
    builder.kernel("gemm", at + 500, 200, step + 1);
  }
  builder.python("<built-in method copy_ of Tensor object at 0x7fd0>", 0, 5, "2");
  builder.python("<built-in method copy_ of Tensor object at 0x8000>", 10, 7, "2");
  builder.event(Category::kOther, "PyTorch Profiler (0)", 0, 5000, builder.thread("1000", "1"));
  builder.kernel("of an earlier launch", 0, 30);
  const RankTimeline timeline = rank_timeline(builder.trace, {});
  EXPECT_THAT(nodes_of(timeline.stacks),
              testing::UnorderedElementsAre(
                  "ProfilerStep 1800/400 x2", "ProfilerStep > aten::linear 800/400 x2",
                  "ProfilerStep > aten::linear > aten::addmm 500/400 x2",
                  "ProfilerStep > aten::linear > aten::addmm > cudaLaunchKernel 40/400 x2",
                  "ProfilerStep > aten::addmm 80/0 x2", "<built-in method copy_ of Tensor object> 12/0 x2"));
  EXPECT_EQ(std::tuple(timeline.stacks.elsewhere_ns, timeline.stacks.left_out), std::tuple(30, 0U));
  EXPECT_THAT(timeline.modules.nodes, IsEmpty());
}

TEST(FlameTree, WhatGoesOnAfterAFunctionIsNotInIt) {
  TraceBuilder builder;
  builder.python("main", 0, 1000);
  builder.python("profiler.step", 100, 20);
  builder.step(1, 110, 800);  // begins in the function, and outlives it
  builder.op("aten::mm", 200, 50);
  builder.launch(220, 35, "gemm", 300, 80, 1);
  EXPECT_THAT(nodes_of(rank_timeline(builder.trace, {}).stacks),
              testing::UnorderedElementsAre("main 1000/80 x1", "main > profiler.step 20/0 x1",
                                            "main > ProfilerStep 800/80 x1",
                                            "main > ProfilerStep > aten::mm 50/80 x1",
                                            "main > ProfilerStep > aten::mm > cudaLaunchKernel 35/80 x1"));
}

TEST(FlameTree, ModulesHaveTheTimesOfTheAnalysis) {
  TraceBuilder builder;
  builder.python("train.py(3): main", 0, 1000);
  builder.python("nn.Module: Net_0", 100, 500);
  builder.python("nn.Module: Linear_0", 200, 100);
  builder.op("aten::addmm", 210, 50);
  builder.launch(220, 20, "gemm", 300, 80, 1);
  builder.kernel("of no launch", 500, 7);
  const FlameTree modules = rank_timeline(builder.trace, {}).modules;
  EXPECT_THAT(nodes_of(modules), ElementsAre("Net_0 500/80 x1", "Net_0 > Linear_0 100/80 x1"));
  EXPECT_EQ(modules.elsewhere_ns, 7);
}

TEST(FlameTree, OfTooManyNodesThoseWithTheMostTimeStayInTheirPlaces) {
  TraceBuilder builder;
  std::int64_t at = 0;
  for (int i = 0; i < 100; ++i) {
    builder.op("outer" + std::to_string(i), at, 10 + i);
    builder.op("inner", at, 9 + i);
    at += 1000;
  }
  TimelineLimits limits;
  limits.flame_nodes = 5;
  const FlameTree tree = rank_timeline(builder.trace, {}, limits).stacks;
  EXPECT_EQ(tree.left_out, 195U);
  EXPECT_THAT(nodes_of(tree), ElementsAre("outer97 107/0 x1", "outer98 108/0 x1", "outer98 > inner 107/0 x1",
                                          "outer99 109/0 x1", "outer99 > inner 108/0 x1"));
}

TEST(FlameTree, EndlessNestsEnd) {
  TraceBuilder builder;
  for (int depth = 0; depth < 5000; ++depth) builder.op("f", depth, 20'000 - 2 * depth);
  TimelineLimits limits;
  limits.flame_nodes = 10'000;
  EXPECT_EQ(rank_timeline(builder.trace, {}, limits).stacks.nodes.size(), 1000U);
}

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
// Readers keep times, durations and base times within 2^61.
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
  for (const std::int64_t duration : {kFar, std::int64_t{0}}) builder.python("a.py(1): f", -kFar, duration);
  return std::move(builder.trace);
}

TEST(ExtremeValues, NoAnalysisOfDevicesFails) {
  const Trace trace = extreme_trace();
  for (const char* name : {"idle", "launch", "queue", "memory", "overlap"}) {
    const AnalysisResult result = run_analysis(name, trace, {{"each", ""}, {"series", ""}}, 0);
    EXPECT_FALSE(result.tables.empty()) << name;
    for (const Headline& headline : result.headlines)
      EXPECT_FALSE(std::isnan(headline.value)) << name << " " << headline.metric;
  }
}

TEST(ExtremeValues, NoOtherAnalysisFails) {
  const Trace trace = extreme_trace();
  for (const Analysis* analysis : analyses()) {
    const AnalysisResult result = analysis->analyze(TraceIndex(trace), {});
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
  EXPECT_EQ(integer(run_analysis("idle", builder.trace, {{"threshold", "1e300s"}}), "streams", 0,
                    "kernel_wait_gaps"),
            1);
  EXPECT_FALSE(run_analysis("launch", builder.trace, {{"call-cutoff", "1e300s"}}).tables.empty());
}

}  // namespace
}  // namespace headroom::trace
