// SPDX-License-Identifier: Apache-2.0
// Execution traces: Chakra's protocol buffers, and the JSON of PyTorch's observer.
#include <gmock/gmock.h>

#include "format_files.h"

namespace headroom::trace {
namespace {

TEST(Chakra, NodesAreOperatorsAndWorkOfTheDevice) {
  const Trace trace = read(format_path("chakra.et"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  ASSERT_EQ(trace.events.size(), 3U);
  const std::size_t op = row_of(trace, "aten::mm");
  EXPECT_EQ(trace.events.category[op], Category::kCpuOp);
  EXPECT_EQ(trace.events.start_ns[op], 1'000'000);
  EXPECT_EQ(trace.events.duration_ns[op], 20'000);
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[op]).dims], "[[8,8],[]]");
  EXPECT_EQ(trace.events.category[row_of(trace, "sgemm")], Category::kKernel);
  EXPECT_EQ(work_of(trace, "sgemm").stream, 7);
  const OpDetail& all_reduce = trace.ops.at(trace.events.detail[row_of(trace, "all_reduce")]);
  ASSERT_NE(all_reduce.collective, kNone);
  EXPECT_EQ(trace.names[trace.collectives[all_reduce.collective].name], "all_reduce");
}

TEST(Chakra, PyTorchsObserverGivesOperatorsInTheirOrder) {
  const Trace trace = read(format_path("pytorch_execution.json"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  const std::size_t op = row_of(trace, "aten::mm");
  ASSERT_EQ(trace.events.category[op], Category::kCpuOp);
  const OpDetail& detail = trace.ops.at(trace.events.detail[op]);
  EXPECT_EQ(trace.names[detail.dims], "[[8,8],[8,8]]");
  EXPECT_EQ(trace.names[detail.types], R"(["float","float"])");
  EXPECT_EQ(trace.names[detail.values], R"(["",""])");
  EXPECT_EQ(trace.events.category[row_of(trace, "step")], Category::kUserAnnotation);
  EXPECT_EQ(trace.events.duration_ns[op], 0);  // it says of none how long it took
  const std::size_t relu = row_of(trace, "aten::clamp_min");
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[relu]).types], R"(["float","Scalar"])");
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[relu]).values], R"(["","0"])");
}

TEST(Chakra, CutAndChangedTheyAreReadOrRefused) {
  expect_robust("chakra.et");
  expect_robust("pytorch_execution.json", 1500);
}

}  // namespace
}  // namespace headroom::trace
