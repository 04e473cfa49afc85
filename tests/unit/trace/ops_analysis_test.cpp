// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

TEST(OpsAnalysis, SelfAndTotalTimes) {
  TraceBuilder builder;
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
  const AnalysisResult result = run_analysis("ops", builder.trace);
  const DataTable& ops = table_of(result, "ops");
  EXPECT_EQ(text(ops, 0, "name"), "aten::addmm");  // most device time of its own
  EXPECT_EQ(integer(ops, 0, "calls"), 2);
  EXPECT_EQ(integer(ops, 0, "self_cpu_ns"), 80);
  EXPECT_EQ(integer(ops, 0, "cpu_total_ns"), 100);
  EXPECT_DOUBLE_EQ(number(ops, 0, "cpu_mean_ns"), 50);
  EXPECT_EQ(integer(ops, 0, "self_device_ns"), 120);
  EXPECT_EQ(integer(ops, 0, "device_total_ns"), 120);
  const std::size_t linear = row_with(ops, "name", "aten::linear");
  EXPECT_EQ(integer(ops, linear, "self_cpu_ns"), 30);
  EXPECT_EQ(integer(ops, linear, "self_device_ns"), 0);
  EXPECT_EQ(integer(ops, linear, "device_total_ns"), 50);
  const std::size_t step = row_with(ops, "name", "ProfilerStep*");
  EXPECT_EQ(text(ops, step, "kind"), "annotation");
  EXPECT_EQ(integer(ops, step, "self_cpu_ns"), 200 - 90 - 40 - 5);
  EXPECT_EQ(integer(ops, step, "self_device_ns"), 3);
  EXPECT_EQ(integer(ops, step, "device_total_ns"), 123);
  EXPECT_EQ(integer(ops, row_with(ops, "name", "cudaLaunchKernel"), "self_cpu_ns"), 25);
  EXPECT_DOUBLE_EQ(headline(result, "self_cpu_ns"), 200);
  EXPECT_DOUBLE_EQ(headline(result, "self_device_ns"), 123);
  EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr("2.00 ns of the devices' time")));
}

TEST(OpsAnalysis, FunctionsOfPythonAreTheStackWhereOperatorsHaveNone) {
  TraceBuilder builder;
  const std::uint32_t thread = builder.thread(TraceBuilder::kHostPid, "1");
  builder.event(Category::kPython, "train.py(41): step", 0, 300, thread);
  builder.event(Category::kPython, "model.py(7): forward", 10, 80, thread);
  builder.op("aten::mm", 20, 30);
  builder.op("aten::mm", 120, 30);
  builder.op("aten::mm", 160, 30).stack = builder.trace.names.intern("own.py(1): f;own.py(2): g");
  const DataTable ops = table_of(run_analysis("ops", builder.trace, {{"by", "stack"}}), "ops");
  ASSERT_EQ(ops.rows.size(), 3U);
  EXPECT_NO_THROW(row_with(ops, "stack", "model.py(7): forward;train.py(41): step"));
  EXPECT_NO_THROW(row_with(ops, "stack", "train.py(41): step"));
  EXPECT_NO_THROW(row_with(ops, "stack", "own.py(1): f;own.py(2): g"));
  const DataTable one =
      table_of(run_analysis("ops", builder.trace, {{"by", "stack"}, {"frames", "1"}}), "ops");
  EXPECT_NO_THROW(row_with(one, "stack", "model.py(7): forward"));
  AnalysisOptions options;
  options.set("by", "stack");
  EXPECT_TRUE(has(needs_of(*find_analysis("ops"), options), Needs::kPython));
}

TEST(OpsAnalysis, AnOnlyChildOfTheSameNameIsTheSameCall) {
  TraceBuilder builder;
  builder.op("aten::arange", 0, 100);
  builder.op("aten::arange", 10, 80);
  builder.op("aten::arange", 20, 60);
  builder.runtime("cudaLaunchKernel", 30, 10, 1);
  builder.kernel("arange", 200, 7, 1);
  const DataTable ops = table_of(run_analysis("ops", builder.trace), "ops");
  const std::size_t row = row_with(ops, "name", "aten::arange");
  EXPECT_EQ(integer(ops, row, "calls"), 1);
  EXPECT_EQ(integer(ops, row, "self_cpu_ns"), 90);
  EXPECT_EQ(integer(ops, row, "cpu_total_ns"), 100);
  EXPECT_EQ(integer(ops, row, "self_device_ns"), 7);
  EXPECT_EQ(integer(ops, row, "device_total_ns"), 7);
}

TEST(OpsAnalysis, RecursionIsInTheTotalsOnce) {
  TraceBuilder builder;
  builder.op("aten::where", 0, 100);
  builder.op("aten::expand", 5, 5);
  builder.op("aten::where", 20, 60);  // no only child: a call of its own
  builder.op("aten::where", 200, 10);
  const DataTable ops = table_of(run_analysis("ops", builder.trace), "ops");
  const std::size_t row = row_with(ops, "name", "aten::where");
  EXPECT_EQ(integer(ops, row, "calls"), 3);
  EXPECT_EQ(integer(ops, row, "self_cpu_ns"), 105);
  EXPECT_EQ(integer(ops, row, "cpu_total_ns"), 110);
}

TEST(OpsAnalysis, CallsOfTheProfilerBelongToTheirParents) {
  TraceBuilder builder;
  builder.op("aten::detach", 0, 100);
  builder.op("aten::is_leaf", 10, 20);
  builder.op("aten::is_leaf", 200, 5);
  const DataTable ops = table_of(run_analysis("ops", builder.trace), "ops");
  ASSERT_EQ(ops.rows.size(), 1U);
  EXPECT_EQ(integer(ops, 0, "self_cpu_ns"), 100);
}

TEST(OpsAnalysis, ThreadsDoNotNest) {
  TraceBuilder builder;
  builder.op("forward", 0, 100);
  builder.op("backward", 10, 50, -1, "2");
  const DataTable ops = table_of(run_analysis("ops", builder.trace), "ops");
  EXPECT_EQ(integer(ops, row_with(ops, "name", "forward"), "self_cpu_ns"), 100);
}

TEST(OpsAnalysis, ByShapeAndStack) {
  TraceBuilder builder;
  for (int i = 0; i < 3; ++i) {
    OpDetail& op = builder.op("aten::mm", 100 * i, 50 + i);
    op.dims = builder.trace.names.intern(i == 2 ? "[[4, 4]]" : "[[2, 2]]");
    op.stack = builder.trace.names.intern("a.py(1): f;b.py(" + std::to_string(i) + "): g;c.py(3): h");
  }
  const DataTable by_name = table_of(run_analysis("ops", builder.trace), "ops");
  EXPECT_EQ(by_name.rows.size(), 1U);
  const DataTable shapes = table_of(run_analysis("ops", builder.trace, {{"by", "shape"}}), "ops");
  EXPECT_EQ(shapes.rows.size(), 2U);
  EXPECT_EQ(integer(shapes, row_with(shapes, "input_shapes", "[[2, 2]]"), "calls"), 2);
  const auto by_stack = [&](const char* frames) {
    return table_of(run_analysis("ops", builder.trace, {{"by", "stack"}, {"frames", frames}}), "ops");
  };
  ASSERT_EQ(by_stack("1").rows.size(), 1U);
  EXPECT_EQ(text(by_stack("1"), 0, "stack"), "a.py(1): f");
  EXPECT_EQ(by_stack("2").rows.size(), 3U);
  EXPECT_NO_THROW(row_with(by_stack("9"), "stack", "a.py(1): f;b.py(1): g;c.py(3): h"));
}

TEST(OpsAnalysis, SortsByWhatItIsAskedFor) {
  TraceBuilder builder;
  builder.op("long", 0, 100);
  builder.op("often", 200, 10);
  builder.op("often", 300, 10);
  EXPECT_EQ(text(table_of(run_analysis("ops", builder.trace), "ops"), 0, "name"), "long");
  EXPECT_EQ(text(table_of(run_analysis("ops", builder.trace, {{"sort", "calls"}}), "ops"), 0, "name"),
            "often");
  EXPECT_THROW(run_analysis("ops", builder.trace, {{"sort", "beauty"}}), Error);
  EXPECT_THROW(run_analysis("ops", builder.trace, {{"by", "beauty"}}), Error);
  EXPECT_THROW(run_analysis("ops", builder.trace, {{"by", "stack"}, {"frames", "0"}}), Error);
}

// tests/data/trace/key_averages.json: bench/key_averages_golden.py made it with torch's own class.
TEST(OpsAnalysis, EqualsTorchsKeyAveragesOnRealFiles) {
  const std::filesystem::path traces = std::filesystem::path(HEADROOM_SHARED) / "traces";
  if (!std::filesystem::exists(traces)) GTEST_SKIP() << "needs " << traces;
  std::ifstream file(HEADROOM_TEST_DATA "/trace/key_averages.json");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const Json golden = parse_json(all, "key_averages.json");
  ASSERT_EQ(golden.size(), 6U);
  for (const auto& [name, rows] : golden.items()) {
    ReadOptions options;
    options.needs = find_analysis("ops")->needs;
    const Trace trace = read(traces / name, options);
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
      // Torch adds the time of a call within a call of the same row twice; here it is in the totals once.
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

}  // namespace
}  // namespace headroom::trace
