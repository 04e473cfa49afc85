// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/cost/roofline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/readers/read.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

const Analysis& roofline_analysis() {
  const Analysis* found = find_analysis("roofline");
  EXPECT_NE(found, nullptr);
  return *found;
}

void set_arguments(TraceBuilder& builder, OpDetail& op, const char* dims, const char* types) {
  op.dims = builder.trace.names.intern(dims);
  op.types = builder.trace.names.intern(types);
}

/// aten::mm of 64 x 64 floats: 524,288 FLOPs and 49,152 bytes; its kernel takes 1000 ns.
void add_product(TraceBuilder& builder, std::int64_t at_ns, std::int64_t correlation,
                 const char* kernel = "sgemm") {
  set_arguments(builder, builder.op("aten::mm", at_ns, 50), "[[64, 64], [64, 64]]", R"(["float", "float"])");
  builder.runtime("cudaLaunchKernel", at_ns + 10, 5, correlation);
  builder.kernel(kernel, at_ns + 100, 1000, correlation);
}

double covered(const Roofline& found, Coverage kind) {
  return found.covered_ns[static_cast<std::size_t>(kind)];
}

TEST(Roofline, HoldsEachOperatorAgainstItsBound) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  add_product(builder, 2000, 2);
  DevicePeaks peaks;
  peaks.f32 = 1e15;
  peaks.bytes_per_second = 1e12;
  const Roofline found = roofline(builder.trace, peaks);
  ASSERT_EQ(found.rows.size(), 1U);
  const RooflineRow& row = found.rows.front();
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.device_ns, 2000);
  EXPECT_EQ(row.flops, 2 * 524'288.0);
  EXPECT_EQ(row.bytes, 2 * 49'152.0);
  EXPECT_NEAR(row.compute_ns, 2 * 0.524288, 1e-12);
  EXPECT_NEAR(row.memory_ns, 2 * 49.152, 1e-9);
  EXPECT_NEAR(row.roof_ns, 2 * 49.152, 1e-9);
}

TEST(Roofline, KeepsStridesApart) {
  TraceBuilder builder;
  std::int64_t at_ns = 0, correlation = 0;
  const auto add = [&](const char* name, const char* dims, const char* strides, const char* values) {
    OpDetail& op = builder.op(name, at_ns, 50);
    set_arguments(builder, op, dims, R"(["float", "float"])");
    op.strides = builder.trace.names.intern(strides);
    op.values = builder.trace.names.intern(values);
    builder.runtime("cudaLaunchKernel", at_ns + 10, 5, ++correlation);
    builder.kernel("sgemm", at_ns + 100, 1000, correlation);
    at_ns += 2000;
  };
  const char* const square = "[[64, 64], [64, 64]]";
  add("aten::mm", square, "[[64, 1], [64, 1]]", "");
  add("aten::mm", square, "[[64, 1], [1, 64]]", "");  // the second transposed
  add("aten::mm", square, "[[64, 1], [64, 1]]", "");
  const char* const image = "[[1, 8, 32, 32], [8, 8, 3, 3], [], [], [], [], [], [], []]";
  const char* const one = R"(["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])";
  const char* const two = R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])";
  add("aten::convolution", image, "", one);
  add("aten::convolution", image, "", two);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 4U);
  const AnalysisResult result = roofline_analysis().analyze(builder.trace, {});
  const DataTable& table = result.tables.front();
  EXPECT_EQ(text(table, 0, "strides"), "[[64, 1], [64, 1]]");
  EXPECT_EQ(integer(table, 0, "calls"), 2);
  EXPECT_EQ(text(table, row_with(table, "strides", "[[64, 1], [1, 64]]"), "op"), "aten::mm");
  std::set<std::string> arguments;
  for (std::size_t row = 0; row < 4; ++row) {
    if (text(table, row, "op") == "aten::convolution") arguments.insert(text(table, row, "arguments"));
  }
  EXPECT_EQ(arguments.size(), 2U);
}

TEST(Roofline, KernelsThatRoundToTf32AreHeldAgainstThatPeak) {
  TraceBuilder builder;
  add_product(builder, 0, 1, "cutlass_80_tensorop_s1688gemm_128x128");
  add_product(builder, 2000, 2, "ampere_sgemm_128x64_nn");
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_NE(found.rows[0].math, found.rows[1].math);
}

TEST(Roofline, AnOuterOperatorDoesNotCountWhatInnerOnesDid) {
  TraceBuilder builder;
  // linear calls addmm, which is known, and some helper, which is not: the helper is not another product.
  set_arguments(builder, builder.op("aten::linear", 0, 1000), "[[64, 64], [64, 64], []]",
                R"(["float", "float", ""])");
  set_arguments(builder, builder.op("aten::mm", 100, 100), "[[64, 64], [64, 64]]", R"(["float", "float"])");
  builder.runtime("cudaLaunchKernel", 110, 5, 1);
  builder.kernel("sgemm", 2000, 1000, 1);
  builder.op("custom::helper", 300, 100);
  builder.runtime("cudaLaunchKernel", 310, 5, 2);
  builder.kernel("helper_kernel", 3000, 10, 2);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.rows[0].op], "aten::mm");
  EXPECT_EQ(covered(found, Coverage::kKnown), 1000);
  EXPECT_EQ(covered(found, Coverage::kUnknown), 10);
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.unknown[0].op], "custom::helper");
}

TEST(Roofline, AnOuterOperatorStandsForInnerOnesThatAreNotKnown) {
  TraceBuilder builder;
  set_arguments(builder, builder.op("aten::linear", 0, 1000), "[[64, 64], [64, 64], []]",
                R"(["float", "float", ""])");
  builder.op("custom::product", 100, 100);
  builder.runtime("cudaLaunchKernel", 110, 5, 1);
  builder.kernel("sgemm", 2000, 1000, 1);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.rows[0].op], "aten::linear");
}

TEST(Roofline, EveryPieceOfWorkIsCountedOnce) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  builder.kernel("nobody's", 5000, 7);
  builder.kernel("ncclDevKernel_AllReduce", 6000, 11);
  builder.copy(7000, 13);
  builder.op("custom::op", 8000, 100);
  builder.runtime("cudaLaunchKernel", 8010, 5, 2);
  builder.kernel("custom_kernel", 8100, 17, 2);
  const Roofline found = roofline(builder.trace, {});
  EXPECT_EQ(covered(found, Coverage::kKnown), 1000);
  EXPECT_EQ(covered(found, Coverage::kNoOp), 7);
  EXPECT_EQ(covered(found, Coverage::kCommunication), 11);
  EXPECT_EQ(covered(found, Coverage::kHostCopy), 13);
  EXPECT_EQ(covered(found, Coverage::kUnknown), 17);
}

TEST(RooflineAnalysis, TakesThePeaksOfTheDeviceOrOfTheOptions) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  EXPECT_EQ(roofline_analysis().analyze(builder.trace, {}).headlines.size(), 1U);  // no device, no roof
  AnalysisOptions options;
  options.set("peak-flops", "1e12");
  options.set("peak-bandwidth", "1e12");
  const AnalysisResult given = roofline_analysis().analyze(builder.trace, options);
  EXPECT_NEAR(given.headlines[1].value, 0.524288, 1e-12);
  EXPECT_EQ(std::get<std::string>(given.tables[0].rows[0][9]), "compute");
  builder.device(0, "NVIDIA H100 80GB HBM3");
  const AnalysisResult known = roofline_analysis().analyze(builder.trace, {});
  EXPECT_NEAR(known.headlines[1].value, 49'152 / 3350e9 * 1e9 / 1000, 1e-9);
  EXPECT_EQ(std::get<std::string>(known.tables[0].rows[0][9]), "memory");
  AnalysisOptions other;
  other.set("peaks-of", "MI300X");
  EXPECT_NEAR(roofline_analysis().analyze(builder.trace, other).headlines[1].value,
              49'152 / 5300e9 * 1e9 / 1000, 1e-9);
  other.set("peaks-of", "abacus");
  EXPECT_THROW(roofline_analysis().analyze(builder.trace, other), Error);
  other = {};
  other.set("peak-flops", "-1");
  EXPECT_THROW(roofline_analysis().analyze(builder.trace, other), Error);
}

TEST(RooflineAnalysis, SaysThatTheTraceHasNoShapes) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 50);
  builder.runtime("cudaLaunchKernel", 10, 5, 1);
  builder.kernel("sgemm", 100, 1000, 1);
  const AnalysisResult result = roofline_analysis().analyze(builder.trace, {});
  EXPECT_NE(result.notes.back().find("record_shapes"), std::string::npos);
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(roofline_analysis().analyze(TraceBuilder().trace, {}).notes.empty());
}

TEST(RooflineRealFiles, CoverageSumsToTheDeviceTime) {
  const fs::path folder = fs::path(HEADROOM_SHARED) / "traces";
  if (!fs::exists(folder)) GTEST_SKIP() << "the real traces are not beside this repository";
  for (const char* name :
       {"tracelens__torch_compile_triton_trace.json.gz", "tracelens__mi300_resnet_act_checkpoint.json.gz",
        "tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "hta__trace_filter_sampled_rank-0.json.gz",
        "tracelens__mi210_gpu_only_trace_gpu_only_trace.json.gz"}) {
    ReadOptions options;
    options.needs = needs_of(roofline_analysis(), {});
    const Trace trace = read(folder / name, options);
    const Roofline found = roofline(trace, *find_device_peaks("MI300X", 0));
    double total = 0, parts = 0, rows = 0, unknown = 0;
    for (const GpuDetail& work : trace.gpu)
      total += static_cast<double>(trace.events.duration_ns[work.event]);
    for (const double part : found.covered_ns) parts += part;
    for (const RooflineRow& row : found.rows) {
      rows += row.device_ns;
      EXPECT_GE(row.roof_ns, 0) << name;
      EXPECT_GT(row.bytes, 0) << name;
    }
    for (const Roofline::Unknown& one : found.unknown) unknown += one.device_ns;
    EXPECT_EQ(parts, total) << name;
    EXPECT_EQ(rows, covered(found, Coverage::kKnown)) << name;
    EXPECT_EQ(unknown, covered(found, Coverage::kUnknown)) << name;
  }
}

}  // namespace
}  // namespace headroom::trace
