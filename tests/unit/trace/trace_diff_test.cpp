// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_diff.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MATCHER_P2(Is, count, total_ns, "") {
  return arg.count == count && arg.total_ns == total_ns;
}

/// Two steps; each calls linear, which calls addmm, which launches a kernel; the second also copies.
TraceBuilder two_steps() {
  TraceBuilder builder;
  for (const std::int64_t at : {0, 1000}) {
    builder.step(at == 0 ? 7 : 8, at, 900);
    builder.op("aten::linear", at + 10, 500);
    builder.op("aten::addmm", at + 20, 400);
    builder.runtime("cudaLaunchKernel", at + 30, 5, at + 1);
    builder.kernel("void gemm<float>(float*)", at + 50, 100, at + 1);
  }
  builder.runtime("cudaMemcpyAsync", 1700, 5, 90);
  builder.copy(1750, 40, 90);
  builder.kernel("orphan", 2500, 7, 91);
  return builder;
}

TEST(TraceProfile, SumsByName) {
  const TraceBuilder builder = two_steps();
  const TraceProfile profile = profile_of(builder.trace);
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_THAT(profile.kernels.at("gemm"), Is(2, 200));
  EXPECT_THAT(profile.ops.at("aten::linear"), Is(2, 1000));
  EXPECT_THAT(profile.annotations.at("ProfilerStep"), Is(2, 1800));
  EXPECT_THAT(profile.calls.at("cudaLaunchKernel"), Is(2, 10));
  EXPECT_EQ(profile.steps, 2);
  EXPECT_EQ(profile_of(builder.trace, {{}, true}).kernels.count("void gemm<float>(float*)"), 1U);
}

TEST(TraceProfile, PlacesAreTheChainsOfOpsAboveALaunch) {
  const TraceProfile profile = profile_of(two_steps().trace);
  ASSERT_EQ(profile.places.size(), 3U);
  EXPECT_THAT(profile.places.at("ProfilerStep > aten::linear > aten::addmm > gemm"), Is(2, 200));
  EXPECT_THAT(profile.places.at("ProfilerStep > Memcpy HtoD (Pinned -> Device)"), Is(1, 40));
  EXPECT_THAT(profile.places.at("orphan"), Is(1, 7));
}

TEST(TraceProfile, OfOneStepHasWhatThatStepStarted) {
  const TraceBuilder builder = two_steps();
  const TraceProfile first = profile_of(builder.trace, {7, false}),
                     second = profile_of(builder.trace, {8, false});
  EXPECT_THAT(first.kernels, ElementsAre(testing::Pair("gemm", Is(1, 100))));
  EXPECT_THAT(second.kernels.at("Memcpy HtoD (Pinned -> Device)"), Is(1, 40));
  EXPECT_THAT(second.ops.at("aten::linear"), Is(1, 500));
  EXPECT_EQ(second.without_step, 1);
  try {
    profile_of(builder.trace, {9, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no ProfilerStep#9; its steps are 7, 8"));
  }
}

TEST(TraceProfile, RanksAddUp) {
  TraceProfile sum = profile_of(two_steps().trace);
  add(sum, profile_of(two_steps().trace));
  EXPECT_THAT(sum.kernels.at("gemm"), Is(4, 400));
  EXPECT_THAT(sum.places.at("orphan"), Is(2, 14));
  EXPECT_EQ(sum.traces, 2);
  EXPECT_EQ(sum.steps, 4);
}

TEST(TraceDiff, JoinsBothSidesByName) {
  const WorkByName before{{"a", {2, 10}}, {"b", {1, 5}}, {"d", {3, 9}}, {"e", {2, 2}}};
  const WorkByName after{{"a", {2, 11}}, {"c", {1, 6}}, {"d", {4, 9}}, {"e", {1, 7}}};
  std::vector<std::string> seen;
  for (const DiffLine& line : joined(before, after)) seen.push_back(line.name + " " + to_string(line.change));
  EXPECT_THAT(seen, ElementsAre("a unchanged", "b deleted", "c added", "d increased", "e decreased"));
  EXPECT_THAT(joined({}, {}), IsEmpty());
}

std::vector<std::string> names(const DataTable& table) {
  std::vector<std::string> all;
  for (const std::vector<Cell>& row : table.rows) all.push_back(std::get<std::string>(row.back()));
  return all;
}

TEST(TraceDiff, PutsTheLargestDifferenceFirst) {
  TraceProfile before, after;
  before.kernels = {{"slow", {1, 100}}, {"same", {1, 50}}, {"gone", {1, 70}}};
  after.kernels = {{"slow", {1, 130}}, {"same", {1, 50}}, {"new", {2, 1}}};
  before.steps = after.steps = 1;
  before.traces = after.traces = 1;
  const AnalysisResult result = diff(before, after, {2, false});
  ASSERT_EQ(result.tables.at(1).key, "kernels");
  EXPECT_THAT(names(result.tables[1]), ElementsAre("gone", "slow"));
  EXPECT_THAT(result.tables[1].title, HasSubstr("without 2 more"));
  EXPECT_THAT(
      result.tables[1].rows[0],
      ElementsAre(Cell{"deleted"}, Cell{std::int64_t{1}}, Cell{std::int64_t{0}}, Cell{std::int64_t{70}},
                  Cell{std::int64_t{0}}, Cell{std::int64_t{-70}}, Cell{"gone"}));
  // The row "all" of the changes: 3 kernels in 220 ns before, 4 in 181 ns after.
  EXPECT_THAT(result.tables[0].rows.back(),
              ElementsAre(Cell{"all"}, Cell{std::int64_t{4}}, Cell{std::int64_t{3}}, Cell{std::int64_t{4}},
                          Cell{std::int64_t{220}}, Cell{std::int64_t{181}}, Cell{std::int64_t{-39}}));
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST(TraceDiff, DividesBySteps) {
  TraceProfile before, after;
  before.kernels = {{"gemm", {4, 100}}};
  after.kernels = {{"gemm", {2, 60}}};
  before.steps = 2;
  after.steps = 1;
  EXPECT_THAT(diff(before, after).notes, ElementsAre(HasSubstr("--per-step divides")));
  const AnalysisResult result = diff(before, after, {20, true});
  EXPECT_THAT(result.notes, IsEmpty());
  EXPECT_THAT(result.tables.at(1).rows.at(0), ElementsAre(Cell{"decreased"}, Cell{2.0}, Cell{2.0}, Cell{50.0},
                                                          Cell{60.0}, Cell{10.0}, Cell{"gemm"}));
  after.steps = 0;
  EXPECT_THROW(diff(before, after, {20, true}), Error);
}

TEST(TraceDiff, SaysWhenNothingCanBeJoined) {
  TraceProfile before, after;
  before.kernels = {{"a", {1, 1}}};
  after.kernels = {{"b", {1, 1}}};
  EXPECT_THAT(diff(before, after).notes, ElementsAre(HasSubstr("of the same program?")));
  EXPECT_THAT(diff(before, {}).notes, ElementsAre(HasSubstr("no work of a device in B")));
}

}  // namespace
}  // namespace headroom::trace
