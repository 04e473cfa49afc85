// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/attribution.h"

#include <gmock/gmock.h>

#include <array>
#include <limits>
#include <vector>

#include "trace_builder.h"

namespace headroom::trace {
namespace {

using testing::ElementsAre;

constexpr CategoryMask kOps = mask_of(Category::kCpuOp);

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

TEST(Launches, CorrelationsMayBeAnyNumbersOfTheFile) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& numbers : {std::array<std::int64_t, 3>{7, 8, 9},
                              {-7, -2, 3},
                              {kLeast, kMost, 0},
                              {kMost, kMost - 1, kMost - 2}}) {
    TraceBuilder builder;
    std::vector<std::uint32_t> calls;
    for (const std::int64_t number : numbers)
      calls.push_back(builder.runtime("cudaLaunchKernel", 100, 5, number));
    builder.runtime("launches nothing that is in the file", 100, 9, 5);
    builder.runtime("has no number", 100, 9, kNoCorrelation);
    for (const std::int64_t number : numbers) builder.kernel("k", 200, 10, number);
    EXPECT_EQ(launches(builder.trace), calls) << numbers[0];
  }
}

TEST(Parents, TheInnermostOpThatIsOpenOnTheSameThread) {
  TraceBuilder builder;
  const std::uint32_t inner = builder.op("inner", 20, 10).event;  // in the file before what encloses it
  const std::uint32_t outer = builder.op("outer", 10, 90).event;
  const std::uint32_t other = builder.op("other thread", 0, 100, -1, "2").event;
  const std::uint32_t launch = builder.runtime("cudaLaunchKernel", 25, 2, 1);
  const std::uint32_t after = builder.runtime("cudaLaunchKernel", 30, 5, 2);     // inner ended at 30
  const std::uint32_t outside = builder.runtime("cudaLaunchKernel", 100, 5, 3);  // outer ended at 100
  const std::uint32_t twin = builder.op("same start, shorter", 10, 5).event;
  const std::vector<std::uint32_t> parent = parents(builder.trace, kOps);
  EXPECT_EQ(parent[launch], inner);
  EXPECT_EQ(parent[after], outer);
  EXPECT_EQ(parent[outside], kNone);
  EXPECT_EQ(parent[inner], outer);
  EXPECT_EQ(parent[outer], kNone);
  EXPECT_EQ(parent[other], kNone);
  EXPECT_EQ(parent[twin], outer);
}

TEST(Parents, WhatEndsAfterItsParentIsStillItsChild) {
  TraceBuilder builder;
  const std::uint32_t op = builder.op("rounded down", 10, 10).event;
  const std::uint32_t launch = builder.runtime("cudaLaunchKernel", 15, 6, 1);
  EXPECT_EQ(parents(builder.trace, kOps)[launch], op);
}

TEST(LaunchingOps, ByTheLaunchElseByTheExternalId) {
  TraceBuilder builder;
  const std::uint32_t op = builder.op("aten::mm", 10, 10, 77).event;
  builder.runtime("cudaLaunchKernel", 12, 2, 1);
  builder.runtime("cudaLaunchKernel", 50, 2, 2);  // outside of any op
  builder.kernel("by launch", 100, 5, 1);
  builder.kernel("by id", 110, 5, 2).external_id = 77;
  builder.kernel("by id, its launch is not in the file", 120, 5, 3).external_id = 77;
  builder.kernel("of an op that is not in the file", 130, 5, 4).external_id = 78;
  EXPECT_THAT(launching_ops(builder.trace), ElementsAre(op, op, op, kNone));
}

/// One kernel launched under ops that enclose one another, outermost first.
bool counts(std::vector<const char*> ops, const char* kernel, Category category = Category::kKernel) {
  TraceBuilder builder;
  std::int64_t depth = 0;
  for (const char* op : ops) {
    builder.op(op, depth, 100 - 2 * depth);
    ++depth;
  }
  builder.runtime("cudaLaunchKernel", 40, 2, 1);
  builder.gpu(category, kernel, 200, 5, 1);
  return matmul_or_convolution(builder.trace)[0];
}

TEST(MatmulAttribution, TheOpSpeaksBeforeTheKernelsName) {
  EXPECT_TRUE(counts({"aten::linear", "aten::addmm"}, "name_that_says_nothing"));
  EXPECT_TRUE(
      counts({"aten::conv2d", "aten::miopen_convolution"}, "void cudnn::ops::nchwToNhwcKernel<float>"));
  EXPECT_TRUE(counts({"aten::matmul", "my::op"}, "name_that_says_nothing"));
  EXPECT_FALSE(counts({"aten::addmm"}, "void at::native::elementwise_kernel<128, 2, copy>"));
  EXPECT_FALSE(counts({"aten::_convolution", "aten::add_"}, "void at::native::elementwise_kernel<128>"));
  EXPECT_FALSE(counts({"aten::mm"}, "Memcpy DtoD (Device -> Device)", Category::kGpuMemcpy));
}

TEST(MatmulAttribution, WhereNoOpSpeaksTheNameDoes) {
  EXPECT_TRUE(counts({}, "volta_sgemm_128x32_nt"));
  EXPECT_TRUE(counts({"CompiledFunction"}, "volta_sgemm_128x32_nt"));
  EXPECT_FALSE(counts({"aten::scaled_dot_product_attention", "aten::_flash_attention_forward"},
                      "void pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>"));
  EXPECT_FALSE(counts({}, "Memset (Device)", Category::kGpuMemset));
}

TEST(MatmulAttribution, ByNameAloneNeedsNoLaunch) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm_128x32_nt", 0, 5);
  builder.kernel("void at::native::reduce_kernel<512>", 10, 5);
  builder.copy(20, 5);
  EXPECT_THAT(matmul_or_convolution_by_name(builder.trace), ElementsAre(true, false, false));
}

}  // namespace
}  // namespace headroom::trace
