// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/work/launches.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

constexpr std::int64_t kNever = 1'000'000'000'000;

/// Launches into a full queue return when the first work has started.
struct Program {
  TraceBuilder builder;
  std::int64_t depth = kNever, now_ns = 0, own_ns = 4'000, tail_ns = 1'000, device_ns = 0, jitter_ns = 0;
  std::vector<std::int64_t> starts{};
  std::mt19937 random{1};  // NOLINT: a fixed seed
  std::int64_t correlation = 0, first_work_ns = 0;

  std::int64_t jitter() {
    return jitter_ns == 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, jitter_ns)(random);
  }
  /// Launches work of that length.
  void launch(std::int64_t work_ns, const std::string& name = "gemm") {
    const std::int64_t begin = now_ns;
    now_ns += own_ns + jitter();
    if (std::ssize(starts) >= depth)
      now_ns = std::max(now_ns, starts[starts.size() - static_cast<std::size_t>(depth)] + tail_ns + jitter());
    ++correlation;
    builder.runtime("cudaLaunchKernel", begin, now_ns - begin, correlation);
    starts.push_back(std::max(begin + 5'000, device_ns + 1'000));
    device_ns = starts.back() + work_ns;
    builder.kernel(name, starts.back(), work_ns, correlation);
    now_ns += 2'000;
  }
  void synchronize() {
    const std::int64_t begin = now_ns;
    now_ns = std::max(now_ns, device_ns) + 10'000;
    builder.runtime("cudaDeviceSynchronize", begin, now_ns - begin);
  }
  void steps(std::int64_t long_ns, int kernels, std::int64_t kernel_ns) {
    for (int step = 0; step < 3; ++step) {
      if (long_ns > 0) launch(long_ns, "ncclDevKernel_AllReduce");
      for (int i = 0; i < kernels; ++i) launch(kernel_ns);
      synchronize();
    }
  }
  Replay replay() const { return {TraceIndex(builder.trace), {0, now_ns}}; }
  WhatIf without(const std::string& name) const {
    WhatIf what_if{.duration_ns = recorded_durations(builder.trace)};
    const Trace& trace = builder.trace;
    for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
      if (trace.names[trace.events.name[trace.gpu[row].event]] == name)
        what_if.duration_ns[row] = WhatIf::kRemoved;
    }
    return what_if;
  }
};

double claimed_over_true(std::int64_t depth, int kernels, std::int64_t kernel_ns,
                         std::int64_t jitter_ns = 0) {
  Program with, without;
  for (Program* program : {&with, &without}) {
    program->depth = depth;
    program->jitter_ns = jitter_ns;
  }
  with.steps(60'000'000, kernels, kernel_ns);
  without.steps(0, kernels, kernel_ns);
  const Replay replay = with.replay();
  EXPECT_EQ(replay.length_ns(), with.now_ns);
  const auto claimed =
      static_cast<double>(replay.length_ns() - replay.length_ns(with.without("ncclDevKernel_AllReduce")));
  return claimed / static_cast<double>(with.now_ns - without.now_ns);
}

TEST(ReplayQueue, LongWorkBeforeAFullQueueCostsItsWholeLength) {
  for (const std::int64_t depth : {256, 1'024, 4'096}) {
    for (const std::int64_t kernel_ns : {30'000, 9'000}) {
      EXPECT_NEAR(claimed_over_true(depth, 6'000, kernel_ns), 1, 0.02) << depth << " " << kernel_ns;
      EXPECT_NEAR(claimed_over_true(depth, 6'000, kernel_ns, 2'000), 1, 0.02) << depth << " " << kernel_ns;
    }
  }
}

TEST(ReplayQueue, AQueueThatIsNeverFullHasNoDepth) {
  EXPECT_NEAR(claimed_over_true(kNever, 3'000, 30'000), 1, 0.02);
  EXPECT_NEAR(claimed_over_true(kNever, 200, 30'000), 1, 0.02);
  EXPECT_NEAR(claimed_over_true(kNever, 3'000, 30'000, 2'000), 1, 0.02);
}

TEST(ReplayQueue, LaunchesBlockInAWhatIfThatFillsTheQueue) {
  Program program;
  program.depth = 256;
  const auto half = [&] {
    for (int i = 0; i < 300; ++i) program.launch(30'000);
  };
  half();
  for (int step = 0; step < 3; ++step) {
    half();
    program.synchronize();
    program.now_ns += 500'000;
  }
  Program ideal;
  ideal.depth = program.depth;
  for (int i = 0; i < 1'200; ++i) {
    ideal.launch(30'000);
    if (i >= 300 && i % 300 == 299) ideal.now_ns += 500'000;
  }
  const Replay replay = program.replay();
  const std::int64_t now_ns = replay.length_ns({.waits_removed = {true, true, true}});
  EXPECT_NEAR(static_cast<double>(now_ns), static_cast<double>(std::max(ideal.device_ns, ideal.now_ns)),
              200'000);
}

std::vector<QueuedLaunch> launches_of(const Program& program) {
  std::vector<QueuedLaunch> launched;
  const Trace& trace = program.builder.trace;
  const std::vector<std::uint32_t> launch = launches(trace);
  for (std::size_t row = 0; row < launch.size(); ++row)
    launched.push_back({trace.events.start_ns[launch[row]], trace.events.end_ns(launch[row]), program.own_ns,
                        trace.events.start_ns[trace.gpu[row].event]});
  return launched;
}

TEST(FullQueue, ItsDepthIsLearntFromLaunchesThatBlock) {
  for (const std::int64_t depth : {100, 256, 1'022, 1'024, 4'096}) {
    for (const std::int64_t kernel_ns : {7'000, 30'000, 200'000}) {
      Program program;
      program.depth = depth;
      program.jitter_ns = 500;
      for (int i = 0; i < 3'000; ++i) program.launch(20'000);
      for (int i = 0; i < 3'000; ++i) program.launch(kernel_ns);
      EXPECT_EQ(full_queue(launches_of(program)).depth, static_cast<std::size_t>(depth)) << kernel_ns;
    }
  }
}

TEST(FullQueue, LaunchesThatAreLongForOtherReasonsTeachNothing) {
  for (int seed = 1; seed <= 20; ++seed) {
    Program program;
    program.random.seed(static_cast<unsigned>(seed));
    program.jitter_ns = 20'000;
    for (int step = 0; step < 20; ++step) {
      for (int i = 0; i < 300; ++i) program.launch(20'000);
      program.own_ns = 40'000;
      program.launch(20'000);
      program.own_ns = 4'000;
      program.synchronize();
    }
    EXPECT_EQ(full_queue(launches_of(program)).depth, 0U) << seed;
  }
  EXPECT_EQ(full_queue({}).depth, 0U);
}

TEST(ReplayLaunch, TimeInsideALongLaunchCallThatIsGoneMakesItsWorkEarlier) {
  Program program;
  for (int i = 0; i < 4; ++i) program.launch(300'000);
  const std::int64_t begin = program.now_ns;
  program.now_ns += 400'000'000;
  program.builder.runtime("cudaLaunchKernel", begin, program.now_ns - begin, 100);
  program.device_ns = program.now_ns + 1'000;
  program.builder.kernel("gemm", program.device_ns, 300'000, 100);
  program.device_ns += 300'000;
  for (int i = 0; i < 20; ++i) program.launch(300'000);
  program.synchronize();
  const Replay replay = program.replay();
  EXPECT_EQ(replay.length_ns(), program.now_ns);
  const std::int64_t gone_ns = replay.length_ns({.host_removed = {{begin, begin + 399'996'000}}});
  EXPECT_NEAR(static_cast<double>(gone_ns), 25 * 300'000, 100'000);
}

TEST(ReplayDelay, ALateDeviceIsNotLateWithoutTheDelay) {
  for (const bool is_behind_work : {false, true}) {
    Program program;
    program.launch(3'500, "first");
    if (is_behind_work) program.launch(50'000, "before");
    program.device_ns += 493'000'000;
    program.launch(7'000, "late");
    const std::size_t late = program.builder.trace.gpu.size() - 1;
    program.synchronize();
    for (int i = 0; i < 40; ++i) program.launch(300'000);
    program.synchronize();
    const Replay replay = program.replay();
    EXPECT_EQ(replay.length_ns(), program.now_ns);
    WhatIf what_if;
    what_if.delays_removed.resize(late + 1);
    what_if.delays_removed[late] = true;
    EXPECT_NEAR(static_cast<double>(replay.length_ns() - replay.length_ns(what_if)), 493'000'000, 100'000);
    EXPECT_EQ((what_if + WhatIf{}).delays_removed, what_if.delays_removed);
    EXPECT_NEAR(static_cast<double>(replay.length_ns({.delays_removed = std::vector<bool>(1, true)})),
                static_cast<double>(program.now_ns), 1'000);
  }
}

TEST(ReplayDelay, ASynchronousCopyThatReturnsJustBeforeItsWorkWaitedForIt) {
  Program program;
  program.device_ns = 493'000'000;
  program.launch(7'000, "late");
  program.builder.runtime("hipMemcpyWithStream", 20'000, 492'985'000, 50);
  program.builder.copy(493'009'000, 4'000, 50);
  program.now_ns = 493'020'000;
  program.device_ns = 493'013'000;
  for (int i = 0; i < 40; ++i) program.launch(300'000);
  program.synchronize();
  const Replay replay = program.replay();
  EXPECT_EQ(replay.length_ns(), program.now_ns);
  EXPECT_NEAR(static_cast<double>(replay.length_ns() - replay.length_ns({.delays_removed = {true}})),
              493'000'000, 100'000);
}

TraceBuilder unlaunched(std::int64_t idle_ns) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t at = i * (1'002'000 + idle_ns);
    builder.kernel("gemm", at, 500'000);
    builder.kernel("ncclDevKernel_AllReduce", at + 501'000 + idle_ns, 500'000, kNoCorrelation, 0, 20);
  }
  return builder;
}

WhatIf without_communication(const Trace& trace) {
  WhatIf what_if{.duration_ns = recorded_durations(trace)};
  for (std::size_t row = 1; row < trace.gpu.size(); row += 2) what_if.duration_ns[row] = WhatIf::kRemoved;
  return what_if;
}

TEST(ReplayUnlaunched, WorkFollowsTheWorkBeforeIt) {
  for (const std::int64_t idle_ns : {0, 3'000'000}) {
    const TraceBuilder builder = unlaunched(idle_ns);
    const std::int64_t end = trace_extent(builder.trace).end_ns;
    const Replay replay(TraceIndex(builder.trace), {0, end});
    EXPECT_EQ(replay.length_ns(), end);
    EXPECT_NEAR(static_cast<double>(end - replay.length_ns(without_communication(builder.trace))), 10'000'000,
                100'000);
  }
}

TEST(ReplayUnlaunched, WorkLaunchedBeforeTheRecordingComesBeforeTheRest) {
  // The host is far ahead: earlier launches are missing.
  for (const std::int64_t stream : {7, 20}) {
    TraceBuilder builder;
    std::int64_t device_ns = 10'000;
    for (int i = 0; i < 5; ++i) {
      builder.kernel("before", device_ns, 300'000);
      builder.kernel("ncclDevKernel_AllReduce", device_ns + 301'000, 1'000'000, kNoCorrelation, 0, stream);
      device_ns += 1'302'000;
    }
    for (std::int64_t i = 0; i < 10; ++i) {
      builder.launch(i * 6'000, 4'000, "after", device_ns, 300'000, i + 1);
      device_ns += 301'000;
    }
    const Replay replay(TraceIndex(builder.trace), {0, 8'000'000});
    const std::int64_t length = replay.length_ns();
    EXPECT_EQ(length, device_ns - 1'000);
    WhatIf what_if{.duration_ns = recorded_durations(builder.trace)};
    what_if.duration_ns[1] = WhatIf::kRemoved;
    EXPECT_NEAR(static_cast<double>(length - replay.length_ns(what_if)), 1'000'000, 5'000);
  }
}

TEST(ReplayUnlaunched, TheHostEndsWithTheDevices) {
  TraceBuilder builder = unlaunched(0);
  const std::int64_t end = trace_extent(builder.trace).end_ns;
  builder.op("aten::copy_", 0, end + 100'000);
  const Replay replay(TraceIndex(builder.trace), {0, end + 100'000});
  EXPECT_EQ(replay.length_ns(), end + 100'000);
  EXPECT_NEAR(static_cast<double>(end - replay.length_ns(without_communication(builder.trace))), 9'900'000,
              100'000);
}

TEST(ReplayEnd, AWindowThatADeviceEndsDoesNotHoldTheHost) {
  Program program;
  program.steps(0, 10, 300'000);
  const std::int64_t end = program.device_ns;
  const Replay replay(TraceIndex(program.builder.trace), {0, end});
  EXPECT_EQ(replay.length_ns(), end);
  WhatIf shorter{.duration_ns = recorded_durations(program.builder.trace)};
  for (std::int64_t& duration : shorter.duration_ns) duration = 100'000;
  EXPECT_NEAR(static_cast<double>(replay.length_ns(shorter)), static_cast<double>(end) / 3, 200'000);
}

TEST(ReplayEnd, WorkThatAllRunsAfterTheWindowDoesNotLengthenIt) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 10; ++i) {
    builder.step(i, i * 18'500'000, 18'000'000);
    builder.runtime("hipGraphLaunch", i * 18'500'000 + 60'000, 100'000, i + 1);
    for (std::int64_t k = 0; k < 60; ++k)
      builder.kernel("gemm", 185'050'000 + (i * 60 + k) * 300'000, 290'000, i + 1);
  }
  const Replay replay(TraceIndex(builder.trace), {0, 184'500'000});
  EXPECT_EQ(replay.length_ns(), 184'500'000);
}

TEST(ReplayEnd, AHostThatRunsAheadEndsWithItsDevice) {
  Program program;
  for (int i = 0; i < 600; ++i) program.launch(300'000);
  const Replay replay(TraceIndex(program.builder.trace), {0, program.now_ns});
  EXPECT_EQ(replay.length_ns(), program.device_ns);
}

/// Two kernels of 1 ms; in between the host waits for the first and works for 300 µs.
TraceBuilder waiting_program() {
  TraceBuilder builder;
  builder.launch(0, 10'000, "first", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);  // returns 10 µs after the first has ended
  builder.op("aten::work", 1'030'000, 300'000);
  builder.launch(1'330'000, 10'000, "second", 1'350'000, 1'000'000, 2);
  return builder;
}

Replay replay_of(const Trace& trace, std::int64_t end) {
  return {TraceIndex(trace), {0, end}};
}

TEST(Replay, TakesWhatWasRecorded) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns(), 2'350'000);
  EXPECT_EQ(replay_of(builder.trace, 5'000'000).length_ns(), 5'000'000);
}

TEST(Replay, HostTimeThatIsGoneMakesWhatFollowsEarlier) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_removed = {{1'030'000, 1'330'000}}}),
            2'050'000);
  // The device was busy anyway.
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_removed = {{20'000, 90'000}}}), 2'350'000);
}

TEST(Replay, AWaitThatIsGoneLetsTheHostRunAhead) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  ASSERT_EQ(replay.waits().size(), 1U);
  EXPECT_TRUE(replay.waits()[0].has_waited);
  // The second is queued before the first ends: it follows at once.
  EXPECT_GE(replay.length_ns({.waits_removed = {true}}), 2'020'000);
  EXPECT_LT(replay.length_ns({.waits_removed = {true}}), 2'050'000);
}

TEST(Replay, ShorterWorkEndsTheWaitForItEarlier) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  EXPECT_EQ(replay.length_ns({.duration_ns = {400'000, 1'000'000}}), 1'750'000);
  // Removed work is not awaited.
  EXPECT_LT(replay.length_ns({.duration_ns = {WhatIf::kRemoved, 1'000'000}}), 1'450'000);
}

TEST(Replay, WhatDidNotRunSideBySideDoesNotNow) {
  TraceBuilder builder;
  builder.launch(0, 10'000, "compute", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);
  builder.launch(1'100'000, 10'000, "ncclDevKernel_AllReduce", 1'120'000, 500'000, 2, 0, 20);
  const Replay replay = replay_of(builder.trace, 1'620'000);
  EXPECT_EQ(replay.length_ns(), 1'620'000);
  EXPECT_GE(replay.length_ns({.waits_removed = {true}}), 1'520'000);
}

TEST(Replay, TwoAssumptionsAreOne) {
  const WhatIf a{.host_removed = {{0, 10}}, .waits_removed = {true}, .duration_ns = {5, 9}};
  const WhatIf b{
      .host_removed = {{5, 20}}, .waits_removed = {false, true}, .duration_ns = {7, WhatIf::kRemoved}};
  const WhatIf both = a + b;
  EXPECT_EQ(both.host_removed, (Spans{{0, 20}}));
  EXPECT_EQ(both.waits_removed, (std::vector<bool>{true, true}));
  EXPECT_EQ(both.duration_ns, (std::vector<std::int64_t>{5, WhatIf::kRemoved}));
  EXPECT_EQ((a + WhatIf{}).duration_ns, a.duration_ns);
}

std::vector<std::pair<Replay::Link::Kind, Span>> links_of(const Replay& replay) {
  std::vector<std::pair<Replay::Link::Kind, Span>> links;
  for (const Replay::Link& link : replay.chain()) links.emplace_back(link.kind, link.time);
  return links;
}

TEST(ReplayChain, NamesWhatBoundEachPieceAndWait) {
  using Kind = Replay::Link::Kind;
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(links_of(replay_of(builder.trace, 2'000'000)),
            (std::vector<std::pair<Kind, Span>>{{Kind::kLaunch, {0, 20'000}},
                                                {Kind::kWork, {20'000, 1'020'000}},
                                                {Kind::kReturn, {1'020'000, 1'030'000}},
                                                {Kind::kHost, {1'030'000, 1'330'000}},
                                                {Kind::kLaunch, {1'330'000, 1'350'000}},
                                                {Kind::kWork, {1'350'000, 2'350'000}}}));
  // The host's last part leads to no launch, but to the same wait.
  const Replay longer = replay_of(builder.trace, 5'000'000);
  EXPECT_EQ(links_of(longer).back(), std::pair(Kind::kHost, Span(1'030'000, 5'000'000)));
  EXPECT_EQ(longer.chain().back().row, kNone);
}

TEST(ReplayChain, ALaunchThatBlockedLeadsToTheStartThatMadeRoom) {
  using Kind = Replay::Link::Kind;
  // A launch returns when the work 256 before it has started; the host works until the queue is empty, then
  // launches.
  Program program;
  program.depth = 256;
  for (int i = 0; i < 600; ++i) program.launch(100'000);
  const std::int64_t returned = program.now_ns - 2'000, made_room = program.starts[343];
  program.now_ns += 40'000'000;
  const std::int64_t launched = program.now_ns;
  program.launch(100'000);
  const std::vector<Replay::Link> chain = program.replay().chain();
  const auto blocked = std::ranges::find(chain, Kind::kBlocked, &Replay::Link::kind);
  ASSERT_NE(blocked, chain.end());
  EXPECT_EQ(std::tuple(blocked->time, blocked->row), std::tuple(Span(made_room, returned), 599U));
  const Replay::Link &before = *(blocked - 1), &after = *(blocked + 1);
  EXPECT_EQ(std::pair(before.kind, before.row), std::pair(Kind::kGap, 343U));
  EXPECT_EQ(after.kind, Kind::kHost);
  EXPECT_EQ(after.time.start, returned);
  EXPECT_EQ(after.row, 600U);
  EXPECT_GE(after.time.end, launched);
}

}  // namespace
}  // namespace headroom::trace
