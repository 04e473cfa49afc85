// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {
namespace {

using OpsAnalysis = BuiltTrace;

TEST_F(OpsAnalysis, SelfAndTotalTimes) {
  builder.step(1, 0, 200);
  builder.op("aten::linear", 10, 90);
  builder.op("aten::addmm", 20, 60);
  builder.runtime("cudaLaunchKernel", 30, 10, 1);
  builder.op("aten::addmm", 120, 40);
  builder.runtime("cudaLaunchKernel", 130, 10, 2);
  builder.runtime("cudaLaunchKernel", 170, 5, 3);
  builder.kernel("gemm", 300, 50, 1);
  builder.kernel("gemm", 400, 70, 2);
  builder.kernel("by an annotation", 500, 3, 3);
  builder.kernel("by nothing in the file", 600, 2, 9);
  const AnalysisResult result = run("ops");
  const DataTable& ops = table_of(result, "ops");
  EXPECT_EQ(text(ops, 0, "name"), "aten::addmm");  // most self device time
  expect_row(ops, 0,
             {{"calls", 2},
              {"self_cpu_ns", 80},
              {"cpu_total_ns", 100},
              {"cpu_mean_ns", 50.0},
              {"self_device_ns", 120},
              {"device_total_ns", 120}});
  const std::size_t linear = row_with(ops, "name", "aten::linear");
  expect_row(ops, linear, {{"self_cpu_ns", 30}, {"self_device_ns", 0}, {"device_total_ns", 50}});
  const std::size_t step = row_with(ops, "name", "ProfilerStep*");
  expect_row(ops, step,
             {{"kind", "annotation"},
              {"self_cpu_ns", 200 - 90 - 40 - 5},
              {"self_device_ns", 3},
              {"device_total_ns", 123}});
  EXPECT_EQ(integer(ops, row_with(ops, "name", "cudaLaunchKernel"), "self_cpu_ns"), 25);
  expect_headlines(result, {{"self_cpu_ns", 200}, {"self_device_ns", 123}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("2.00 ns of the GPU time")));
}

TEST_F(OpsAnalysis, FunctionsOfPythonAreTheStackWhereOperatorsHaveNone) {
  builder.python("train.py(41): step", 0, 300);
  builder.python("model.py(7): forward", 10, 80);
  builder.op("aten::mm", 20, 30);
  builder.op("aten::mm", 120, 30);
  builder.op("aten::mm", 160, 30).stack = builder.trace.names.intern("own.py(1): f;own.py(2): g");
  const DataTable ops = table_of(run("ops", {{"by", "stack"}}), "ops");
  ASSERT_EQ(ops.rows.size(), 3U);
  EXPECT_NO_THROW(row_with(ops, "stack", "model.py(7): forward;train.py(41): step"));
  EXPECT_NO_THROW(row_with(ops, "stack", "train.py(41): step"));
  EXPECT_NO_THROW(row_with(ops, "stack", "own.py(1): f;own.py(2): g"));
  const DataTable one = table_of(run("ops", {{"by", "stack"}, {"frames", "1"}}), "ops");
  EXPECT_NO_THROW(row_with(one, "stack", "model.py(7): forward"));
  AnalysisOptions options;
  options.set("by", "stack");
  EXPECT_TRUE(has(needs_of(*find_analysis("ops"), options), Needs::kPython));
}

TEST_F(OpsAnalysis, AnOnlyChildOfTheSameNameIsTheSameCall) {
  builder.op("aten::arange", 0, 100);
  builder.op("aten::arange", 10, 80);
  builder.op("aten::arange", 20, 60);
  builder.launch(30, 10, "arange", 200, 7, 1);
  const DataTable ops = table_of(run("ops"), "ops");
  const std::size_t row = row_with(ops, "name", "aten::arange");
  expect_row(ops, row,
             {{"calls", 1},
              {"self_cpu_ns", 90},
              {"cpu_total_ns", 100},
              {"self_device_ns", 7},
              {"device_total_ns", 7}});
}

TEST_F(OpsAnalysis, RecursionIsInTheTotalsOnce) {
  builder.op("aten::where", 0, 100);
  builder.op("aten::expand", 5, 5);
  builder.op("aten::where", 20, 60);  // not an only child: a separate call
  builder.op("aten::where", 200, 10);
  const DataTable ops = table_of(run("ops"), "ops");
  const std::size_t row = row_with(ops, "name", "aten::where");
  expect_row(ops, row, {{"calls", 3}, {"self_cpu_ns", 105}, {"cpu_total_ns", 110}});
}

TEST_F(OpsAnalysis, CallsOfTheProfilerBelongToTheirParents) {
  builder.op("aten::detach", 0, 100);
  builder.op("aten::is_leaf", 10, 20);
  builder.op("aten::is_leaf", 200, 5);
  const DataTable ops = table_of(run("ops"), "ops");
  ASSERT_EQ(ops.rows.size(), 1U);
  EXPECT_EQ(integer(ops, 0, "self_cpu_ns"), 100);
}

TEST_F(OpsAnalysis, ThreadsDoNotNest) {
  builder.op("forward", 0, 100);
  builder.op("backward", 10, 50, -1, "2");
  const DataTable ops = table_of(run("ops"), "ops");
  EXPECT_EQ(integer(ops, row_with(ops, "name", "forward"), "self_cpu_ns"), 100);
}

TEST_F(OpsAnalysis, NoMomentOfAThreadCountsTwiceWhereCallsCross) {
  builder.op("outer", 0, 100);
  builder.op("first", 10, 40);
  builder.op("begins in first, ends after it", 40, 40);
  const AnalysisResult result = run("ops");
  const DataTable& ops = table_of(result, "ops");
  EXPECT_EQ(integer(ops, row_with(ops, "name", "outer"), "self_cpu_ns"), 30);
  EXPECT_EQ(integer(ops, row_with(ops, "name", "first"), "self_cpu_ns"), 30);
  EXPECT_DOUBLE_EQ(headline(result, "self_cpu_ns"), 100);
}

TEST_F(OpsAnalysis, NodesOfAGraphAreNotTheOperatorsWhoseIdTheyShare) {
  builder.op("aten::mm", 0, 10, 77);
  builder.runtime("cudaGraphLaunch", 20, 5, 1);
  builder.kernel("node", 100, 30, 1).external_id = 77;
  builder.kernel("node", 130, 30, 1).external_id = 77;
  builder.kernel("its launch is not in the file", 200, 7, 9).external_id = 77;
  const AnalysisResult result = run("ops");
  const DataTable& ops = table_of(result, "ops");
  EXPECT_EQ(integer(ops, row_with(ops, "name", "aten::mm"), "self_device_ns"), 7);
  EXPECT_THAT(result.notes, Contains(HasSubstr("60.0 ns of the GPU time")));
}

TEST_F(OpsAnalysis, ByShapeAndStack) {
  for (int i = 0; i < 3; ++i) {
    OpDetail& op = builder.op("aten::mm", 100 * i, 50 + i);
    op.dims = builder.trace.names.intern(i == 2 ? "[[4, 4]]" : "[[2, 2]]");
    op.stack = builder.trace.names.intern("a.py(1): f;b.py(" + std::to_string(i) + "): g;c.py(3): h");
  }
  const DataTable by_name = table_of(run("ops"), "ops");
  EXPECT_EQ(by_name.rows.size(), 1U);
  const DataTable shapes = table_of(run("ops", {{"by", "shape"}}), "ops");
  EXPECT_EQ(shapes.rows.size(), 2U);
  EXPECT_EQ(integer(shapes, row_with(shapes, "input_shapes", "[[2, 2]]"), "calls"), 2);
  const auto by_stack = [&](const char* frames) {
    return table_of(run("ops", {{"by", "stack"}, {"frames", frames}}), "ops");
  };
  ASSERT_EQ(by_stack("1").rows.size(), 1U);
  EXPECT_EQ(text(by_stack("1"), 0, "stack"), "a.py(1): f");
  EXPECT_EQ(by_stack("2").rows.size(), 3U);
  EXPECT_NO_THROW(row_with(by_stack("9"), "stack", "a.py(1): f;b.py(1): g;c.py(3): h"));
}

TEST_F(OpsAnalysis, SortsByWhatItIsAskedFor) {
  builder.op("long", 0, 100);
  builder.op("often", 200, 10);
  builder.op("often", 300, 10);
  EXPECT_EQ(text(run("ops"), "ops", 0, "name"), "long");
  EXPECT_EQ(text(run("ops", {{"sort", "calls"}}), "ops", 0, "name"), "often");
  EXPECT_THROW(run("ops", {{"sort", "beauty"}}), Error);
  EXPECT_THROW(run("ops", {{"by", "beauty"}}), Error);
  EXPECT_THROW(run("ops", {{"by", "stack"}, {"frames", "0"}}), Error);
}

// bench/key_averages_golden.py made key_averages.json with torch's class.
TEST_F(OpsAnalysis, EqualsTorchsKeyAveragesOnRealFiles) {
  const std::filesystem::path traces = std::filesystem::path(HEADROOM_SHARED) / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "needs " << traces;
  const Json golden =
      parse_json(read_file(HEADROOM_TEST_DATA "/trace/key_averages.json"), "key_averages.json");
  ASSERT_EQ(golden.size(), 6U);
  for (const auto& [name, rows] : golden.items()) {
    const Trace trace = read(traces / name, only(find_analysis("ops")->needs));
    const DataTable ops = table_of(run_analysis("ops", trace, {}, 0), "ops");
    std::map<std::pair<std::string, bool>, std::size_t> places;
    for (std::size_t row = 0; row < ops.rows.size(); ++row)
      places.emplace(std::pair(text(ops, row, "name"), text(ops, row, "kind") == "annotation"), row);
    EXPECT_EQ(places.size(), rows.size()) << name;
    for (const Json& row : rows) {
      const auto found = places.find({row[0].get<std::string>(), row[1].get<bool>()});
      ASSERT_NE(found, places.end()) << name << " " << row[0];
      const auto ours = [&](const char* key) { return integer(ops, found->second, key); };
      EXPECT_EQ(ours("calls"), row[3]) << name << " " << row[0];
      EXPECT_EQ(ours("self_cpu_ns"), row[4]) << name << " " << row[0];
      EXPECT_EQ(ours("self_device_ns"), row[6]) << name << " " << row[0];
      // Torch counts calls within calls of the same row twice.
      if (row[2].get<bool>()) {
        EXPECT_LE(ours("cpu_total_ns"), row[5].get<std::int64_t>()) << name << " " << row[0];
        EXPECT_LE(ours("device_total_ns"), row[7].get<std::int64_t>()) << name << " " << row[0];
      } else {
        EXPECT_EQ(ours("cpu_total_ns"), row[5]) << name << " " << row[0];
        EXPECT_EQ(ours("device_total_ns"), row[7]) << name << " " << row[0];
      }
    }
  }
}

void launch(TraceBuilder& builder, std::int64_t at_ns, std::int64_t correlation, std::int64_t kernel_ns,
            const char* tid = "1") {
  builder.runtime("cudaLaunchKernel", at_ns, 2, correlation, tid);
  builder.kernel("k", 10'000 + 1000 * correlation, kernel_ns, correlation);
}

TraceBuilder model() {
  TraceBuilder builder;
  builder.python("train.py(41): step", 0, 1000);
  launch(builder, 5, 1, 1);
  builder.python("nn.Module: Model_0", 10, 800);
  builder.python("model.py(7): forward", 12, 790);
  builder.python("nn.Module: Block_0", 20, 300);
  builder.python("model.py(7): forward", 25, 290);
  builder.python("nn.Module: Linear_0", 30, 100);
  builder.python("<built-in function linear>", 35, 80);
  builder.op("aten::linear", 40, 70).sequence = 5;
  launch(builder, 50, 2, 10);
  builder.python("nn.Module: Linear_0", 150, 100);
  launch(builder, 160, 3, 10);
  launch(builder, 270, 4, 100);
  builder.python("nn.Module: Linear_1", 400, 100);
  launch(builder, 410, 5, 1000);
  return builder;
}

using ModulesAnalysis = BuiltTrace;

TEST_F(ModulesAnalysis, ModulesAreATree) {
  const DataTable modules = table_of(run_analysis("modules", model().trace), "modules");
  ASSERT_EQ(modules.rows.size(), 4U);
  const char* const paths[] = {"Model_0", "Model_0 > Linear_1", "Model_0 > Block_0",
                               "Model_0 > Block_0 > Linear_0"};
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(text(modules, row, "path"), paths[row]);
  expect_row(modules, 0,
             {{"own_device_ns", 0}, {"device_ns", 1120}, {"launches", 4}, {"share", 1120.0 / 1121}});
  expect_row(modules, 2, {{"own_device_ns", 100}, {"device_ns", 120}, {"own_launches", 1}});
  expect_row(modules, 3, {{"depth", 2}, {"calls", 2}, {"host_ns", 200}, {"own_device_ns", 20}});
}

TEST_F(ModulesAnalysis, LinesCountRecursionOnce) {
  const DataTable lines = table_of(run_analysis("modules", model().trace), "lines");
  ASSERT_EQ(lines.rows.size(), 2U);
  expect_row(lines, 1, {{"line", "train.py(41): step"}, {"own_device_ns", 1}, {"device_ns", 1121}});
  constexpr std::size_t forward = 0;  // most self device time
  expect_row(lines, forward,
             {{"line", "model.py(7): forward"},
              {"calls", 2},
              {"host_ns", 790},
              {"own_device_ns", 1120},
              {"device_ns", 1120},
              {"launches", 4}});
}

TEST_F(ModulesAnalysis, KeepsTheParentsOfWhatItKeeps) {
  const AnalysisResult result = run_analysis("modules", model().trace, {}, 2);
  const DataTable& modules = table_of(result, "modules");
  ASSERT_EQ(modules.rows.size(), 2U);
  EXPECT_EQ(text(modules, 1, "path"), "Model_0 > Linear_1");
  EXPECT_THAT(result.notes, Contains("2 more rows: --top 0 shows all"));
}

TEST_F(ModulesAnalysis, TheBackwardPassStandsWhereTheForwardOperatorWasCalled) {
  builder = model();
  OpDetail& backward = builder.op("autograd::engine::evaluate_function: AddmmBackward0", 2000, 100, -1, "2");
  backward.sequence = 5;
  backward.forward_thread = 1;
  builder.op("aten::mm", 2010, 50, -1, "2");
  launch(builder, 2020, 6, 7, "2");
  launch(builder, 3000, 7, 3, "2");
  const AnalysisResult result = run("modules");
  const DataTable& modules = table_of(result, "modules");
  EXPECT_EQ(integer(modules, row_with(modules, "path", "Model_0 > Block_0 > Linear_0"), "own_device_ns"), 27);
  EXPECT_THAT(result.notes, Contains(HasSubstr("7.00 ns of the GPU time was launched by autograd")));
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("3.00 ns of the GPU time was launched by no recorded Python")));
}

TEST_F(ModulesAnalysis, CallStacksWhereThereAreNoFunctions) {
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
  const AnalysisResult result = run("modules");
  const DataTable& modules = table_of(result, "modules");
  EXPECT_EQ(integer(modules, row_with(modules, "path", "Model_0 > Linear_0"), "own_device_ns"), 14);
  const DataTable& lines = table_of(result, "lines");
  const std::size_t step = row_with(lines, "line", "train.py(41): step");
  expect_row(lines, step, {{"device_ns", 19}, {"own_device_ns", 5}, {"calls", Cell{}}});
  EXPECT_THAT(result.notes, Contains(HasSubstr("from operator call stacks")));
}

TEST_F(ModulesAnalysis, FlopsStandWhereTheOperatorWasCalled) {
  builder = model();
  OpDetail& mm = builder.op("aten::mm", 410, 50);
  mm.dims = builder.trace.names.intern("[[100, 200], [200, 300]]");
  mm.types = builder.trace.names.intern("[\"float\", \"float\"]");
  const AnalysisResult result = run("modules");
  const DataTable& modules = table_of(result, "modules");
  constexpr double kGflop = 2.0 * 100 * 200 * 300 / 1e9;
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0 > Linear_1"), "gflop"), kGflop);
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0"), "gflop"), kGflop);
  EXPECT_DOUBLE_EQ(number(modules, row_with(modules, "path", "Model_0 > Block_0"), "gflop"), 0);
  EXPECT_DOUBLE_EQ(number(result, "totals", 2, "gflop"), kGflop);
}

TEST_F(ModulesAnalysis, IdleTimeIsThatOfWhatKeptTheDeviceWaiting) {
  builder.launch(10'000, 10, "k", 10'020, 980, 1);
  builder.python("train.py(41): step", 10'900, 1000);
  builder.python("nn.Module: Linear_0", 11'100, 500);
  builder.op("aten::randperm", 11'200, 300);
  builder.launch(11'950, 10, "k", 12'000, 1000, 2);
  const AnalysisResult result = run("modules");
  const DataTable& modules = table_of(result, "modules");
  expect_row(modules, 0, {{"own_idle_ns", 500}, {"idle_ns", 500}});
  const DataTable& lines = table_of(result, "lines");
  expect_row(lines, 0, {{"line", "train.py(41): step"}, {"own_idle_ns", 900}});
  const DataTable& totals = table_of(result, "totals");
  EXPECT_EQ(integer(totals, 0, "idle_ns"), 900);
  EXPECT_EQ(integer(totals, 1, "idle_ns"), 100);  // unrecorded time, and the launch
  EXPECT_EQ(integer(totals, 2, "idle_ns"), 1000);
  EXPECT_EQ(integer(run("idle"), "devices", 0, "idle_ns"), 1000);
}

TEST_F(ModulesAnalysis, MemoryIsThatOfWhoAllocatedIt) {
  builder = model();
  const std::uint32_t thread = builder.thread(TraceBuilder::kHostPid, "1");
  const auto memory = [&](std::int64_t at, std::int64_t bytes, std::int64_t address, std::int64_t total,
                          std::int32_t type = 1) {
    builder.trace.memory.push_back({at, type, 0, bytes, address, total, 10'000, thread});
  };
  memory(45, 100, 0xa, 1100);
  memory(60, 50, 0xb, 1150);    // the same
  memory(300, -50, 0xb, 1100);  // in its block
  memory(410, 400, 0xc, 1500);  // in Linear_1
  memory(420, 70, 0xd, 70, 0);  // of the CPU: ignored if devices have memory
  memory(990, -400, 0xc, 1100);
  const AnalysisResult result = run("modules");
  const DataTable& modules = table_of(result, "modules");
  const std::size_t linear = row_with(modules, "path", "Model_0 > Block_0 > Linear_0"),
                    block = row_with(modules, "path", "Model_0 > Block_0"),
                    whole = row_with(modules, "path", "Model_0");
  expect_row(modules, linear, {{"kept_bytes", 150}, {"peak_bytes", 100}, {"peak_share", 100.0 / 1500}});
  EXPECT_EQ(integer(modules, block, "kept_bytes"), 100);
  expect_row(modules, whole, {{"kept_bytes", 500}, {"peak_bytes", 500}});
  const DataTable& totals = table_of(result, "totals");
  EXPECT_EQ(integer(totals, 1, "peak_bytes"), 1000);  // from before the trace
  expect_row(totals, 2, {{"peak_bytes", 1500}, {"kept_bytes", 100}});
}

TEST_F(ModulesAnalysis, StacksOfAllocationsAreEnough) {
  builder.trace.memory.push_back(
      {10, 1, 0, 64, 0xa, 64, 64, 0, builder.trace.names.intern("lib.py(3): empty;train.py(41): step")});
  builder.event(Category::kOther, "something", 0, 1, builder.thread("1", "1"));
  const DataTable lines = table_of(run("modules"), "lines");
  ASSERT_EQ(lines.rows.size(), 2U);
  EXPECT_EQ(integer(lines, row_with(lines, "line", "train.py(41): step"), "peak_bytes"), 64);
}

TEST_F(ModulesAnalysis, SaysWhatToRecordWhereThereIsNothing) {
  const auto notes_of = [](Writer writer) {
    TraceBuilder built;
    built.trace.writer = writer;
    built.kernel("k", 0, 1);
    const AnalysisResult result = run_analysis("modules", built.trace);
    EXPECT_TRUE(result.tables.empty());
    return result.notes;
  };
  EXPECT_THAT(notes_of(Writer::kPyTorch), Contains(HasSubstr("with_stack=True")));
  EXPECT_THAT(notes_of(Writer::kNsight), Contains(HasSubstr("nsys profile")));
  EXPECT_THAT(notes_of(Writer::kUnknown), Not(Contains(HasSubstr("with_stack"))));
}

TEST_F(ModulesAnalysis, DepthOfABrokenFileEndsSomewhere) {
  constexpr std::int64_t kDepth = 20'000;
  for (std::int64_t i = 0; i < kDepth; ++i)
    builder.python(i % 2 == 0 ? "nn.Module: M_0" : "a.py(1): f", i, 2 * (kDepth - i));
  launch(builder, kDepth + 1, 1, 10);
  const AnalysisResult result = run("modules", {}, 0);
  EXPECT_EQ(integer(result, "lines", 0, "device_ns"), 10);
  EXPECT_LT(table_of(result, "modules").rows.size(), 200U);
}

TEST(PythonFrames, AreTold) {
  EXPECT_EQ(module_of_frame("nn.Module: Linear_0"), "Linear_0");
  EXPECT_EQ(module_of_frame("train.py(41): step"), "");
  EXPECT_EQ(plain_frame("<built-in method copy_ of Tensor object at 0x7fd0>"),
            "<built-in method copy_ of Tensor object>");
  EXPECT_EQ(plain_frame("train.py(41): step"), "train.py(41): step");
  EXPECT_EQ(plain_frame("f at 0x"), "f");
  EXPECT_TRUE(is_python_line("train.py(41): step"));
  EXPECT_TRUE(is_python_line("/a (b)/train.py(41): <module>"));
  for (const char* frame : {"<built-in method linear of type object at 0x7f>", "nn.Module: Linear_0", "", "f",
                            "(1): f", "a.py(): f", "a.py(x): f"}) {
    EXPECT_FALSE(is_python_line(frame)) << frame;
  }
}

}  // namespace
}  // namespace headroom::trace
