// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/trace/tables/duration_stats.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

TraceBuilder two_kernels_and_a_collective() {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 10);
  builder.runtime("cudaLaunchKernel", 1, 1, 1);
  GpuDetail& first = builder.kernel("gemm", 0, 10, 1);
  first.grid[0] = 8;
  first.grid[1] = first.grid[2] = 1;
  first.block[0] = 128;
  first.block[1] = first.block[2] = 1;
  builder.kernel("gemm", 20, 30);
  builder.kernel("ncclKernel", 40, 20, kNoCorrelation, 0, 20);  // 10 of it over the gemm
  builder.copy(100, 5);
  return builder;
}

TEST(KernelsAnalysis, ByName) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  const DataTable& kernels = table_of(result, "kernels");
  ASSERT_EQ(kernels.rows.size(), 3U);
  EXPECT_EQ(text(kernels, 0, "name"), "gemm");
  EXPECT_EQ(integer(kernels, 0, "count"), 2);
  EXPECT_EQ(integer(kernels, 0, "total_ns"), 40);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "share"), 40.0 / 65);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "mean_ns"), 20);
  EXPECT_DOUBLE_EQ(number(kernels, 0, "std_ns"), std::sqrt(200.0));  // of a sample: (10^2 + 10^2) / 1
  EXPECT_EQ(integer(kernels, 0, "min_ns"), 10);
  EXPECT_EQ(integer(kernels, 0, "max_ns"), 30);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(kernels, 1, "std_ns")));
  EXPECT_DOUBLE_EQ(headline(result, "gpu_events"), 4);
  EXPECT_DOUBLE_EQ(headline(result, "gpu_time_ns"), 65);
}

TEST(KernelsAnalysis, TypesAndWhatRanAtOnce) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  const DataTable& types = table_of(result, "types");
  EXPECT_EQ(integer(types, row_with(types, "type", "compute"), "merged_ns"), 40);
  EXPECT_EQ(integer(types, row_with(types, "type", "communication"), "merged_ns"), 20);
  EXPECT_EQ(integer(types, row_with(types, "type", "memory"), "sum_ns"), 5);
  const DataTable& at_once = table_of(result, "combinations");
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "compute"), "time_ns"), 30);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "compute + communication"), "time_ns"), 10);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "communication"), "time_ns"), 10);
  EXPECT_EQ(integer(at_once, row_with(at_once, "types", "memory"), "time_ns"), 5);
  EXPECT_EQ(at_once.rows.size(), 4U);
}

TEST(KernelsAnalysis, ByTypeShapeAndOp) {
  const TraceBuilder builder = two_kernels_and_a_collective();
  const AnalysisResult by_type = run_analysis("kernels", builder.trace, {{"by", "type"}});
  EXPECT_EQ(text(table_of(by_type, "kernels"), 0, "type"), "compute");
  const AnalysisResult by_shape = run_analysis("kernels", builder.trace, {{"by", "shape"}});
  const DataTable& shapes = table_of(by_shape, "kernels");
  EXPECT_EQ(shapes.rows.size(), 4U);
  EXPECT_EQ(text(shapes, row_with(shapes, "grid", "8x1x1"), "block"), "128x1x1");
  const AnalysisResult by_op = run_analysis("kernels", builder.trace, {{"by", "op"}});
  const DataTable& ops = table_of(by_op, "kernels");
  ASSERT_EQ(ops.rows.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(ops, 0, "op")));  // 55 ns of which no op is known
  EXPECT_EQ(integer(ops, row_with(ops, "op", "aten::mm"), "total_ns"), 10);
}

TEST(KernelsAnalysis, ReadsNoMoreThanItIsAskedFor) {
  const Analysis& kernels = *find_analysis("kernels");
  AnalysisOptions options;
  constexpr Needs kCategories = Needs::kLaunches | Needs::kOps;
  EXPECT_EQ(needs_of(kernels, options), kCategories);
  options.set("by", "shape");
  EXPECT_EQ(needs_of(kernels, options), kCategories | Needs::kGpuArguments);
  options.set("by", "op");
  EXPECT_EQ(needs_of(kernels, options), kCategories);
  options.set("by", "colour");
  EXPECT_THROW(needs_of(kernels, options), Error);
}

TEST(KernelsAnalysis, ByCategory) {
  const AnalysisResult result = run_analysis("kernels", two_kernels_and_a_collective().trace);
  EXPECT_EQ(text(table_of(result, "kernels"), 0, "category"), "GEMM");
  const DataTable& categories = table_of(result, "categories");
  ASSERT_EQ(categories.rows.size(), 3U);
  EXPECT_EQ(text(categories, 0, "category"), "GEMM");
  EXPECT_EQ(integer(categories, 0, "count"), 2);
  EXPECT_EQ(integer(categories, 0, "total_ns"), 40);
  EXPECT_DOUBLE_EQ(number(categories, 0, "share"), 40.0 / 65);
  EXPECT_EQ(text(categories, 1, "category"), "communication");
  EXPECT_EQ(text(categories, 2, "category"), "memory");
}

/// Kernels of 10 ns, 2 ns apart, of which each letter is one: 'G' a product, ' ' a copy.
TraceBuilder kernels_in_a_row(const std::string& letters, std::int64_t stream = 7) {
  TraceBuilder builder;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto at = static_cast<std::int64_t>(12 * i);
    if (letters[i] == ' ') {
      builder.copy(at, 10, kNoCorrelation, 0, stream);
    } else {
      builder.kernel(letters[i] == 'G' ? "sgemm" : std::string("add_") + letters[i], at, 10, kNoCorrelation,
                     0, stream);
    }
  }
  return builder;
}

std::vector<std::string> sequences_of(const TraceBuilder& builder) {
  const AnalysisResult result = run_analysis("kernels", builder.trace, {}, 0);
  const DataTable& table = table_of(result, "sequences");
  std::vector<std::string> found;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    std::string names = text(table, row, "kernels");
    for (std::size_t at = 0; (at = names.find("add_")) != std::string::npos;) names.erase(at, 4);
    found.push_back(std::to_string(integer(table, row, "count")) + " x " + names);
  }
  return found;
}

TEST(KernelsAnalysis, SequencesThatAFusionWouldTake) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcGabcGabc")), ElementsAre("3 x a + b + c"));
  // Each kernel is in one of them; what is left of the others is counted.
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcGabcGabGab")), ElementsAre("4 x a + b"));
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcdeGabcdeGdeGde")),
              ElementsAre("2 x a + b + c + d + e", "2 x d + e"));
  // None across a product, a copy or the end of a stream; none that occurs once; none with itself.
  EXPECT_THAT(sequences_of(kernels_in_a_row("aGbGaGb")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("a b a b")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcd")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("aaa")), IsEmpty());
  EXPECT_THAT(sequences_of(kernels_in_a_row("aaaa")), ElementsAre("2 x a x2"));
  // The longest are of five.
  EXPECT_THAT(sequences_of(kernels_in_a_row("abcdefGabcdef")), ElementsAre("2 x a + b + c + d + e"));
}

TEST(KernelsAnalysis, SequencesOfOneTextAreNumbered) {
  TraceBuilder builder;
  std::int64_t at = 0;
  for (const char* type : {"float", "float", "double", "double"}) {
    for (const char* functor : {"AddFunctor", "MulFunctor"}) {
      const std::string of = std::string("at::native::") + functor + "<" + type + ">";
      builder.kernel("void at::native::vectorized_elementwise_kernel<4, " + of + ">(int)", at += 10, 5);
    }
    builder.copy(at += 10, 5);
  }
  EXPECT_THAT(
      sequences_of(builder),
      testing::ElementsAre(
          "2 x vectorized_elementwise_kernel<AddFunctor> + vectorized_elementwise_kernel<MulFunctor>",
          "2 x vectorized_elementwise_kernel<AddFunctor> + vectorized_elementwise_kernel<MulFunctor> #2"));
}

TEST(KernelsAnalysis, SequencesHaveTheirTimesAndGaps) {
  const AnalysisResult result = run_analysis("kernels", kernels_in_a_row("abcGabc").trace);
  const DataTable& table = table_of(result, "sequences");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(integer(table, 0, "length"), 3);
  EXPECT_EQ(integer(table, 0, "total_ns"), 60);
  EXPECT_EQ(integer(table, 0, "gaps_ns"), 8);
  EXPECT_DOUBLE_EQ(number(table, 0, "share"), 60.0 / 70);
}

TEST(KernelsAnalysis, LeavesOutRowsAndSaysSo) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) builder.kernel("k" + std::to_string(i), 10 * i, 5);
  const AnalysisResult result = run_analysis("kernels", builder.trace, {}, 3);
  EXPECT_EQ(table_of(result, "kernels").rows.size(), 3U);
  EXPECT_THAT(result.notes, testing::Contains("2 more rows: --top 0 shows all"));
  EXPECT_EQ(table_of(run_analysis("kernels", builder.trace, {}, 0), "kernels").rows.size(), 5U);
}

TEST(DurationStats, SumsDoNotWrapRound) {
  DurationStats stats;
  EXPECT_EQ(stats.standard_deviation_ns(), 0.0);
  for (int i = 0; i < 5; ++i) stats.add(std::int64_t{1} << 61);
  EXPECT_EQ(stats.total_ns(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(saturating_add(std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace headroom::trace
