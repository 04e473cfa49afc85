// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "headroom/trace/analysis.h"
#include "headroom/trace/work/trace_checks.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A launch on the CPU and its kernel after it.
void launched_kernel(TraceBuilder& builder, std::int64_t correlation, std::int64_t at) {
  builder.runtime("cudaLaunchKernel", at, 5, correlation);
  builder.kernel("gemm", at + 10, 20, correlation);
}

std::map<std::string, TraceCheck> failed(const Trace& trace) {
  std::map<std::string, TraceCheck> found;
  for (const TraceCheck& check : trace_checks(trace)) {
    if (check.count > 0) found[check.what] = check;
  }
  return found;
}

TEST(TraceChecks, AWholeTracePassesAll) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 100);
  launched_kernel(builder, 1, 10);
  launched_kernel(builder, 2, 50);
  EXPECT_THAT(failed(builder.trace), IsEmpty());
  EXPECT_THAT(failed(Trace()), IsEmpty());
}

TEST(TraceChecks, FindEventsThatDoNotNest) {
  TraceBuilder builder;
  builder.op("outer", 0, 100);
  builder.op("inner", 90, 30);
  builder.op("elsewhere", 50, 300, -1, "2");
  const auto found = failed(builder.trace);
  ASSERT_EQ(found.size(), 1U);
  const TraceCheck& check = found.at("CPU events that overlap without nesting");
  EXPECT_EQ(check.count, 1U);
  EXPECT_EQ(check.of, 3U);
  EXPECT_EQ(check.largest_ns, 20);
  EXPECT_EQ(check.example, 1U);
}

TEST(TraceChecks, FindWorkThatOverlapsOnAStreamOrIsThereTwice) {
  TraceBuilder builder;
  launched_kernel(builder, 1, 0);
  builder.kernel("gemm", 10, 20, 1);
  const auto found = failed(builder.trace);
  EXPECT_EQ(found.at("GPU work that overlaps on its stream").largest_ns, 20);
  EXPECT_EQ(found.at("GPU work that is there twice").count, 1U);
  EXPECT_EQ(found.size(), 2U);
}

TEST(TraceChecks, KernelsThatStartEarlyAreNoAnomaly) {
  TraceBuilder builder;
  for (int i = 0; i < 3; ++i) {
    builder.runtime("cudaLaunchKernelExC", 10 * i, 5, i + 1);
    builder.kernel("gemv", 100 + 50 * i, 60, i + 1);
  }
  const auto found = failed(builder.trace);
  ASSERT_EQ(found.size(), 1U);
  const TraceCheck& early = found.at("kernels that start before the one ahead of them ends");
  EXPECT_EQ(early.count, 2U);
  EXPECT_EQ(early.largest_ns, 10);
  EXPECT_FALSE(early.is_anomaly);
}

TEST(TraceChecks, AKernelWithinAnotherIsOne) {
  TraceBuilder within;
  launched_kernel(within, 1, 0);
  within.runtime("cudaLaunchKernel", 6, 2, 2);
  within.kernel("scale", 15, 5, 2);
  EXPECT_EQ(failed(within.trace).at("GPU work that overlaps on its stream").largest_ns, 15);
}

TEST(TraceChecks, ParallelStreamsAreNoOverlap) {
  TraceBuilder builder;
  launched_kernel(builder, 1, 0);
  builder.runtime("cudaLaunchKernel", 6, 3, 2);
  builder.kernel("gemm", 10, 20, 2, 0, 8);
  EXPECT_THAT(failed(builder.trace), IsEmpty());
}

TEST(TraceChecks, FindMissingPartnersOfLaunches) {
  TraceBuilder builder;
  launched_kernel(builder, 1, 0);
  builder.kernel("orphan", 100, 5, 7);
  builder.kernel("stranger", 200, 5);
  builder.runtime("cudaLaunchKernel", 300, 5, 9);
  builder.runtime("cudaStreamSynchronize", 310, 5, 10);
  const auto found = failed(builder.trace);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("GPU work without a correlation").count, 1U);
  EXPECT_EQ(found.at("GPU work whose launch is not in the file").count, 1U);
  EXPECT_FALSE(found.at("GPU work whose launch is not in the file").is_anomaly);
  EXPECT_EQ(found.at("launches without GPU work").of, 2U);
}

TEST(TraceChecks, FindClocksThatDisagree) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 1000, 5, 1);
  builder.kernel("early", 900, 20, 1);
  EXPECT_EQ(failed(builder.trace).at("GPU work that starts before its launch").largest_ns, 100);
}

TEST(TraceChecks, FindTimesOfAnotherClock) {
  TraceBuilder builder;
  const std::int64_t epoch = 1'623'143'089'861'123'457;
  for (int i = 0; i < 20; ++i) launched_kernel(builder, i, epoch + 100 * i);
  builder.op("lost", 5, 10);
  const TraceCheck check = failed(builder.trace).at("events far from all others");
  EXPECT_EQ(check.count, 1U);
  EXPECT_GT(check.largest_ns, epoch / 2);
}

TEST(TraceChecks, FindArrowsWithOneEndByIdAndKind) {
  TraceBuilder builder;
  const NameId kind = builder.trace.names.intern("ac2g"), other = builder.trace.names.intern("fwdbwd");
  builder.trace.flows = {{0, 1, 0, kind, true}, {5, 1, 0, kind, false}, {6, 1, 0, other, true}};
  const TraceCheck check = failed(builder.trace).at("arrows with one end");
  EXPECT_EQ(check.count, 1U);
  EXPECT_EQ(check.of, 2U);
}

TEST(Validate, CountsWhatIsBrokenAndSaysWhere) {
  TraceBuilder builder;
  launched_kernel(builder, 1, 0);
  builder.trace.problems = {30, 4, {{17, "ts is not a number: 'abc'"}}};
  builder.trace.is_complete = false;
  const Analysis* validate = find_analysis("validate");
  ASSERT_NE(validate, nullptr);
  const AnalysisResult result = validate->analyze(builder.trace, {});
  EXPECT_EQ(result.tables.at(0).key, "problems");
  EXPECT_THAT(result.tables[0].rows,
              ElementsAre(ElementsAre(Cell{std::int64_t{17}}, Cell{"ts is not a number: 'abc'"})));
  ASSERT_EQ(result.headlines.size(), 3U);
  EXPECT_EQ(result.headlines[0].value, 31);
  EXPECT_EQ(result.headlines[1].value, 4);
  EXPECT_EQ(result.headlines[2].value, 0);
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("ends before its JSON does")));
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("30 problems in all")));
}

TEST(Validate, NotesAreNoAnomalies) {
  TraceBuilder builder;
  builder.runtime("cudaLaunchKernel", 300, 5, 9);
  const AnalysisResult result = find_analysis("validate")->analyze(builder.trace, {});
  EXPECT_EQ(result.headlines.at(2).value, 0);
  EXPECT_THAT(result.notes, ::testing::Contains(HasSubstr("launches without GPU work")));
  EXPECT_THAT(result.notes, ::testing::Contains("no work of a device is in the file"));
}

}  // namespace
}  // namespace headroom::trace
