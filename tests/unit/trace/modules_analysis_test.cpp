// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "analysis_run.h"
#include "headroom/trace/work/python_work.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

void python(TraceBuilder& builder, const char* name, std::int64_t start_ns, std::int64_t duration_ns) {
  builder.event(Category::kPython, name, start_ns, duration_ns, builder.thread(TraceBuilder::kHostPid, "1"));
}

void launch(TraceBuilder& builder, std::int64_t at_ns, std::int64_t correlation, std::int64_t kernel_ns,
            const char* tid = "1") {
  builder.runtime("cudaLaunchKernel", at_ns, 2, correlation, tid);
  builder.kernel("k", 10'000 + 1000 * correlation, kernel_ns, correlation);
}

/// A model of two layers, one of them in a block, called by a function that launches by itself, too.
TraceBuilder model() {
  TraceBuilder builder;
  python(builder, "train.py(41): step", 0, 1000);
  launch(builder, 5, 1, 1);
  python(builder, "nn.Module: Model_0", 10, 800);
  python(builder, "model.py(7): forward", 12, 790);
  python(builder, "nn.Module: Block_0", 20, 300);
  python(builder, "model.py(7): forward", 25, 290);
  python(builder, "nn.Module: Linear_0", 30, 100);
  python(builder, "<built-in function linear>", 35, 80);
  builder.op("aten::linear", 40, 70).sequence = 5;
  launch(builder, 50, 2, 10);
  python(builder, "nn.Module: Linear_0", 150, 100);
  launch(builder, 160, 3, 10);
  launch(builder, 270, 4, 100);
  python(builder, "nn.Module: Linear_1", 400, 100);
  launch(builder, 410, 5, 1000);
  return builder;
}

TEST(ModulesAnalysis, ModulesAreATree) {
  const AnalysisResult result = run_analysis("modules", model().trace);
  const DataTable& modules = table_of(result, "modules");
  ASSERT_EQ(modules.rows.size(), 4U);
  const char* const paths[] = {"Model_0", "Model_0 > Linear_1", "Model_0 > Block_0",
                               "Model_0 > Block_0 > Linear_0"};
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(text(modules, row, "path"), paths[row]);
  EXPECT_EQ(integer(modules, 0, "own_device_ns"), 0);
  EXPECT_EQ(integer(modules, 0, "device_ns"), 1120);
  EXPECT_EQ(integer(modules, 0, "launches"), 4);
  EXPECT_DOUBLE_EQ(number(modules, 0, "share"), 1120.0 / 1121);
  EXPECT_EQ(integer(modules, 2, "own_device_ns"), 100);
  EXPECT_EQ(integer(modules, 2, "device_ns"), 120);
  EXPECT_EQ(integer(modules, 2, "own_launches"), 1);
  EXPECT_EQ(integer(modules, 3, "depth"), 2);
  EXPECT_EQ(integer(modules, 3, "calls"), 2);
  EXPECT_EQ(integer(modules, 3, "host_ns"), 200);
  EXPECT_EQ(integer(modules, 3, "own_device_ns"), 20);
}

TEST(ModulesAnalysis, LinesCountRecursionOnce) {
  const AnalysisResult result = run_analysis("modules", model().trace);
  const DataTable& lines = table_of(result, "lines");
  ASSERT_EQ(lines.rows.size(), 2U);
  EXPECT_EQ(text(lines, 1, "line"), "train.py(41): step");
  EXPECT_EQ(integer(lines, 1, "own_device_ns"), 1);
  EXPECT_EQ(integer(lines, 1, "device_ns"), 1121);
  constexpr std::size_t forward = 0;  // that with the most device time of its own
  EXPECT_EQ(text(lines, forward, "line"), "model.py(7): forward");
  EXPECT_EQ(integer(lines, forward, "calls"), 2);
  EXPECT_EQ(integer(lines, forward, "host_ns"), 790);
  EXPECT_EQ(integer(lines, forward, "own_device_ns"), 1120);
  EXPECT_EQ(integer(lines, forward, "device_ns"), 1120);
  EXPECT_EQ(integer(lines, forward, "launches"), 4);
}

TEST(ModulesAnalysis, KeepsTheParentsOfWhatItKeeps) {
  const AnalysisResult result = run_analysis("modules", model().trace, {}, 2);
  const DataTable& modules = table_of(result, "modules");
  ASSERT_EQ(modules.rows.size(), 2U);
  EXPECT_EQ(text(modules, 1, "path"), "Model_0 > Linear_1");
  EXPECT_THAT(result.notes, Contains("2 more rows: --top 0 shows all"));
}

TEST(ModulesAnalysis, TheBackwardPassStandsWhereTheForwardOperatorWasCalled) {
  TraceBuilder builder = model();
  OpDetail& backward = builder.op("autograd::engine::evaluate_function: AddmmBackward0", 2000, 100, -1, "2");
  backward.sequence = 5;
  backward.forward_thread = 1;
  builder.op("aten::mm", 2010, 50, -1, "2");
  launch(builder, 2020, 6, 7, "2");
  launch(builder, 3000, 7, 3, "2");
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& modules = table_of(result, "modules");
  EXPECT_EQ(integer(modules, row_with(modules, "path", "Model_0 > Block_0 > Linear_0"), "own_device_ns"), 27);
  EXPECT_THAT(result.notes, Contains(HasSubstr("7.00 ns of the devices' time was launched by autograd")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("3.00 ns of the devices' time was launched by no Python")));
}

TEST(ModulesAnalysis, CallStacksWhereThereAreNoFunctions) {
  TraceBuilder builder;
  builder.op("aten::linear", 0, 100).stack = builder.trace.names.intern(
      "nn.py(3): linear;nn.Module: Linear_0;nn.Module: Model_0;train.py(41): step");
  builder.op("aten::addmm", 10, 50);
  launch(builder, 20, 1, 10);
  OpDetail& addmm = builder.op("aten::addmm", 60, 20);
  addmm.sequence = 3;
  OpDetail& backward = builder.op("AddmmBackward0", 500, 50, -1, "2");
  backward.sequence = 3;
  backward.forward_thread = 1;
  launch(builder, 510, 3, 4, "2");
  builder.op("aten::add", 200, 50).stack = builder.trace.names.intern("train.py(41): step");
  launch(builder, 210, 2, 5);
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& modules = table_of(result, "modules");
  EXPECT_EQ(integer(modules, row_with(modules, "path", "Model_0 > Linear_0"), "own_device_ns"), 14);
  const DataTable& lines = table_of(result, "lines");
  const std::size_t step = row_with(lines, "line", "train.py(41): step");
  EXPECT_EQ(integer(lines, step, "device_ns"), 19);
  EXPECT_EQ(integer(lines, step, "own_device_ns"), 5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(lines, step, "calls")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("from the call stacks of the operators")));
}

TEST(ModulesAnalysis, FlopsStandWhereTheOperatorWasCalled) {
  TraceBuilder builder = model();
  OpDetail& mm = builder.op("aten::mm", 410, 50);  // in Linear_1, around its launch
  mm.dims = builder.trace.names.intern("[[100, 200], [200, 300]]");
  mm.types = builder.trace.names.intern("[\"float\", \"float\"]");
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& modules = table_of(result, "modules");
  constexpr double kGflop = 2.0 * 100 * 200 * 300 / 1e9;
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0 > Linear_1"), "gflop"), kGflop);
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0"), "gflop"), kGflop);
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0 > Block_0"), "gflop"), 0);
  EXPECT_DOUBLE_EQ(number(table_of(result, "totals"), 2, "gflop"), kGflop);
}

/// A gap of the device from 11,000 to 12,000, in which a module is at work, then its caller, then nobody.
TEST(ModulesAnalysis, IdleTimeIsThatOfWhatKeptTheDeviceWaiting) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 10'000, 10, 1);
  builder.kernel("k", 10'020, 980, 1);
  python(builder, "train.py(41): step", 10'900, 1000);
  python(builder, "nn.Module: Linear_0", 11'100, 500);
  builder.op("aten::randperm", 11'200, 300);
  builder.runtime("cudaLaunchKernel", 11'950, 10, 2);
  builder.kernel("k", 12'000, 1000, 2);
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& modules = table_of(result, "modules");
  EXPECT_EQ(integer(modules, 0, "own_idle_ns"), 500);
  EXPECT_EQ(integer(modules, 0, "idle_ns"), 500);
  const DataTable& lines = table_of(result, "lines");
  EXPECT_EQ(text(lines, 0, "line"), "train.py(41): step");
  EXPECT_EQ(integer(lines, 0, "own_idle_ns"), 900);
  const DataTable& totals = table_of(result, "totals");
  EXPECT_EQ(integer(totals, 0, "idle_ns"), 900);
  EXPECT_EQ(integer(totals, 1, "idle_ns"), 100);  // nothing recorded, and the launch
  EXPECT_EQ(integer(totals, 2, "idle_ns"), 1000);
  EXPECT_EQ(integer(table_of(run_analysis("idle", builder.trace), "devices"), 0, "idle_ns"), 1000);
}

TEST(ModulesAnalysis, MemoryIsThatOfWhoAllocatedIt) {
  TraceBuilder builder = model();
  const std::uint32_t thread = builder.thread(TraceBuilder::kHostPid, "1");
  const auto memory = [&](std::int64_t at, std::int64_t bytes, std::int64_t address, std::int64_t total,
                          std::int32_t type = 1) {
    builder.trace.memory.push_back({at, type, 0, bytes, address, total, 10'000, thread});
  };
  memory(45, 100, 0xa, 1100);   // in the operator of Linear_0
  memory(60, 50, 0xb, 1150);    // the same
  memory(300, -50, 0xb, 1100);  // in its block
  memory(410, 400, 0xc, 1500);  // in Linear_1
  memory(420, 70, 0xd, 70, 0);  // of the CPU: devices have memory here
  memory(990, -400, 0xc, 1100);
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& modules = table_of(result, "modules");
  const std::size_t linear = row_with(modules, "path", "Model_0 > Block_0 > Linear_0"),
                    block = row_with(modules, "path", "Model_0 > Block_0"),
                    whole = row_with(modules, "path", "Model_0");
  EXPECT_EQ(integer(modules, linear, "kept_bytes"), 150);
  EXPECT_EQ(integer(modules, linear, "peak_bytes"), 100);
  EXPECT_DOUBLE_EQ(number(modules, linear, "peak_share"), 100.0 / 1500);
  EXPECT_EQ(integer(modules, block, "kept_bytes"), 100);
  EXPECT_EQ(integer(modules, whole, "kept_bytes"), 500);
  EXPECT_EQ(integer(modules, whole, "peak_bytes"), 500);
  const DataTable& totals = table_of(result, "totals");
  EXPECT_EQ(integer(totals, 1, "peak_bytes"), 1000);  // from before the trace
  EXPECT_EQ(integer(totals, 2, "peak_bytes"), 1500);
  EXPECT_EQ(integer(totals, 2, "kept_bytes"), 100);
}

TEST(ModulesAnalysis, StacksOfAllocationsAreEnough) {
  TraceBuilder builder;
  builder.trace.memory.push_back(
      {10, 1, 0, 64, 0xa, 64, 64, 0, builder.trace.names.intern("lib.py(3): empty;train.py(41): step")});
  builder.event(Category::kOther, "something", 0, 1, builder.thread("1", "1"));
  const AnalysisResult result = run_analysis("modules", builder.trace);
  const DataTable& lines = table_of(result, "lines");
  ASSERT_EQ(lines.rows.size(), 2U);
  EXPECT_EQ(integer(lines, row_with(lines, "line", "train.py(41): step"), "peak_bytes"), 64);
}

TEST(ModulesAnalysis, SaysWhatToRecordWhereThereIsNothing) {
  TraceBuilder builder;
  builder.kernel("k", 0, 1);
  const AnalysisResult result = run_analysis("modules", builder.trace);
  EXPECT_TRUE(result.tables.empty());
  EXPECT_THAT(result.notes, Contains(HasSubstr("with_stack=True")));
}

TEST(ModulesAnalysis, DepthOfABrokenFileEndsSomewhere) {
  TraceBuilder builder;
  constexpr std::int64_t kDepth = 20'000;
  for (std::int64_t i = 0; i < kDepth; ++i)
    python(builder, i % 2 == 0 ? "nn.Module: M_0" : "a.py(1): f", i, 2 * (kDepth - i));
  launch(builder, kDepth + 1, 1, 10);
  const AnalysisResult result = run_analysis("modules", builder.trace, {}, 0);
  EXPECT_EQ(integer(table_of(result, "lines"), 0, "device_ns"), 10);
  EXPECT_LT(table_of(result, "modules").rows.size(), 200U);
}

TEST(PythonFrames, AreTold) {
  EXPECT_EQ(module_of_frame("nn.Module: Linear_0"), "Linear_0");
  EXPECT_EQ(module_of_frame("train.py(41): step"), "");
  EXPECT_EQ(plain_frame("<built-in method copy_ of Tensor object at 0x7fd0>"),
            "<built-in method copy_ of Tensor object>");
  EXPECT_EQ(plain_frame("train.py(41): step"), "train.py(41): step");
  EXPECT_EQ(plain_frame("f at 0x"), "f");
  EXPECT_TRUE(is_line_of_python("train.py(41): step"));
  EXPECT_TRUE(is_line_of_python("/a (b)/train.py(41): <module>"));
  for (const char* frame : {"<built-in method linear of type object at 0x7f>", "nn.Module: Linear_0", "", "f",
                            "(1): f", "a.py(): f", "a.py(x): f"}) {
    EXPECT_FALSE(is_line_of_python(frame)) << frame;
  }
}

}  // namespace
}  // namespace headroom::trace
