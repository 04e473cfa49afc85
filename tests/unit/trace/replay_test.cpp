// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/critical_path/replay.h"

#include <gtest/gtest.h>

#include "headroom/trace/columns/attribution.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

/// Two kernels of 1 ms with a launch each; between them the host waits for the first and works for 300 µs.
TraceBuilder waiting_program() {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10'000, 1);
  builder.kernel("first", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);  // returns 10 µs after the first has ended
  builder.op("aten::work", 1'030'000, 300'000);
  builder.runtime("cudaLaunchKernel", 1'330'000, 10'000, 2);
  builder.kernel("second", 1'350'000, 1'000'000, 2);
  return builder;
}

Replay replay_of(const Trace& trace, std::int64_t end) {
  return {trace, {0, end}, device_work(trace), launches(trace)};
}

TEST(Replay, TakesWhatWasRecorded) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns(), 2'350'000);
  EXPECT_EQ(replay_of(builder.trace, 5'000'000).length_ns(), 5'000'000);
}

TEST(Replay, HostTimeThatIsGoneMakesWhatFollowsEarlier) {
  const TraceBuilder builder = waiting_program();
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_gone = {{1'030'000, 1'330'000}}}),
            2'050'000);
  // Time in which the device was busy all the same gains nothing.
  EXPECT_EQ(replay_of(builder.trace, 2'000'000).length_ns({.host_gone = {{20'000, 90'000}}}), 2'350'000);
}

TEST(Replay, AWaitThatIsGoneLetsTheHostRunAhead) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  ASSERT_EQ(replay.waits().size(), 1U);
  EXPECT_TRUE(replay.waits()[0].has_waited);
  // The second kernel is in the queue before the first ends: it follows at once, as kernels here do.
  EXPECT_GE(replay.length_ns({.waits_gone = {true}}), 2'020'000);
  EXPECT_LT(replay.length_ns({.waits_gone = {true}}), 2'050'000);
}

TEST(Replay, ShorterWorkEndsTheWaitForItEarlier) {
  const TraceBuilder builder = waiting_program();
  const Replay replay = replay_of(builder.trace, 2'000'000);
  EXPECT_EQ(replay.length_ns({.duration_ns = {400'000, 1'000'000}}), 1'750'000);
  // Work that is gone is not waited for: the host goes on when the call has begun.
  EXPECT_LT(replay.length_ns({.duration_ns = {WhatIf::kGone, 1'000'000}}), 1'450'000);
}

TEST(Replay, WhatDidNotRunSideBySideDoesNotNow) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 0, 10'000, 1);
  builder.kernel("compute", 20'000, 1'000'000, 1);
  builder.runtime("cudaDeviceSynchronize", 100'000, 930'000);
  builder.runtime("cudaLaunchKernel", 1'100'000, 10'000, 2);
  builder.kernel("ncclDevKernel_AllReduce", 1'120'000, 500'000, 2, 0, 20);
  const Replay replay = replay_of(builder.trace, 1'620'000);
  EXPECT_EQ(replay.length_ns(), 1'620'000);
  EXPECT_GE(replay.length_ns({.waits_gone = {true}}), 1'520'000);
}

TEST(Replay, TwoAssumptionsAreOne) {
  const WhatIf a{.host_gone = {{0, 10}}, .waits_gone = {true}, .duration_ns = {5, 9}};
  const WhatIf b{.host_gone = {{5, 20}}, .waits_gone = {false, true}, .duration_ns = {7, WhatIf::kGone}};
  const WhatIf both = a + b;
  EXPECT_EQ(both.host_gone, (Spans{{0, 20}}));
  EXPECT_EQ(both.waits_gone, (std::vector<bool>{true, true}));
  EXPECT_EQ(both.duration_ns, (std::vector<std::int64_t>{5, WhatIf::kGone}));
  EXPECT_EQ((a + WhatIf{}).duration_ns, a.duration_ns);
}

}  // namespace
}  // namespace headroom::trace
