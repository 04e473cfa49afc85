// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/attribution.h"

#include <gmock/gmock.h>

#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;

TEST(Launches, OneLaunchOfAGraphHasManyKernelsAndTheOuterCallWins) {
  TraceBuilder builder;
  const std::uint32_t graph = builder.runtime("cudaGraphLaunch", 100, 50, 5);
  builder.event(Category::kDriver, "cuGraphLaunch", 110, 20, builder.thread(TraceBuilder::kHostPid, "1"), 5);
  builder.kernel("a", 200, 10, 5);
  builder.kernel("b", 210, 10, 5);
  builder.kernel("not launched here", 300, 10, 6);
  builder.kernel("no correlation", 400, 10);
  EXPECT_THAT(launches(builder.trace), ElementsAre(graph, graph, kNone, kNone));
}

}  // namespace
}  // namespace headroom::trace
