// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

ExperimentDescription gemv() {
  return {"gemv",
          "",
          "memory_bandwidth(GB/s)",
          "cpu",
          {{"D", Axis::Kind::kInteger, {"1024", "4096"}}, {"dtype", Axis::Kind::kText, {"int8", "bf16"}}},
          {"native", "reference"},
          false};
}
ExperimentDescription layer_norm() {
  return {"layer_norm", "", "", "cpu", {{"dtype", Axis::Kind::kText, {"bf16"}}}, {"native"}, false};
}
ExperimentDescription read_limit() {
  return {"limit.read", "", "", "cpu", {{"bytes", Axis::Kind::kInteger, {"1024"}}}, {"native"}, true};
}
std::vector<RunnerOffer> one_runner() {
  return {{"native", {gemv(), layer_norm(), read_limit()}, false}};
}

std::vector<std::string> titles(const std::vector<Group>& groups) {
  std::vector<std::string> names;
  for (const Group& group : groups) names.push_back(group.title);
  return names;
}

Selection asking(std::vector<std::string> names, const std::vector<std::string>& axes = {},
                 std::vector<std::string> backends = {}) {
  Selection selection;
  selection.names = std::move(names);
  for (const std::string& axis : axes) selection.axes.push_back(parse_axis_request(axis));
  selection.backends = std::move(backends);
  return selection;
}

std::string error_of(const Selection& selection) {
  return test::message_of([&] { plan(one_runner(), selection); });
}

TEST(Plan, AllButLimitsInOrderTheLastAxisFastest) {
  const auto groups = plan(one_runner(), {});
  EXPECT_THAT(titles(groups),
              ElementsAre("gemv D=1024 dtype=int8", "gemv D=1024 dtype=bf16", "gemv D=4096 dtype=int8",
                          "gemv D=4096 dtype=bf16", "layer_norm dtype=bf16"));
  for (const Group& group : groups) ASSERT_THAT(group.cases, SizeIs(1));
  EXPECT_EQ(groups[0].cases[0].spec.backend, "native");
  EXPECT_EQ(groups[0].cases[0].metric, "memory_bandwidth(GB/s)");
  EXPECT_THAT(groups[0].cases[0].spec.axes,
              ElementsAre(testing::Pair("D", "1024"), testing::Pair("dtype", "int8")));
}

TEST(Plan, ARunnerWithoutAPointIsLeftOutOfItsGroup) {
  // As the limits of two devices, which are reached by other access patterns.
  const auto limit = [](const std::string& device, std::vector<std::string> patterns) {
    ExperimentDescription made = read_limit();
    made.device = device;
    made.backends = {device};
    made.axes.push_back({"pattern", Axis::Kind::kText, std::move(patterns)});
    return made;
  };
  const std::vector<RunnerOffer> offers{{"cuda", {limit("cuda", {"linear", "tiles"})}, false},
                                        {"native", {limit("cpu", {"linear", "streams"})}, false}};
  const auto groups = plan(offers, asking({"limit.read"}, {}, {"all"}));
  EXPECT_THAT(titles(groups),
              ElementsAre("limit.read bytes=1024 pattern=linear", "limit.read bytes=1024 pattern=tiles",
                          "limit.read bytes=1024 pattern=streams"));
  EXPECT_THAT(groups[0].cases, SizeIs(2));
  ASSERT_THAT(groups[1].cases, SizeIs(1));
  EXPECT_EQ(groups[1].cases[0].device, "cuda");
  ASSERT_THAT(groups[2].cases, SizeIs(1));
  EXPECT_EQ(groups[2].cases[0].device, "cpu");
  EXPECT_THAT(titles(plan(offers, asking({"limit.read"}, {"pattern=streams"}, {"all"}))),
              ElementsAre("limit.read bytes=1024 pattern=streams"));
}

TEST(Plan, WhatRunsOnRequestIsRunWhereItIsNamed) {
  ExperimentDescription model = layer_norm();
  model.name = "model";
  model.is_on_request = true;
  model.also_metrics = {"compilation_time(s)"};
  model.model = "Large";
  const std::vector<RunnerOffer> offers{{"native", {layer_norm(), model}, false}};
  EXPECT_THAT(titles(plan(offers, {})), ElementsAre("layer_norm dtype=bf16"));
  const auto named = plan(offers, asking({"model"}));
  EXPECT_THAT(titles(named), ElementsAre("model dtype=bf16"));
  EXPECT_THAT(named[0].cases[0].also_metrics, ElementsAre("compilation_time(s)"));
  EXPECT_EQ(named[0].cases[0].model, "Large");
}

TEST(Plan, TheSelectionReachesEveryCase) {
  Selection selection = asking({"gemv"}, {"D=7"}, {"all"});
  selection.threads = {3};
  selection.caches = Caches::kHot;
  selection.seed = 42;
  selection.keep_wrong = true;
  selection.most_bytes = 1000;
  const auto groups = plan(one_runner(), selection);
  EXPECT_THAT(titles(groups), ElementsAre("gemv D=7 dtype=int8", "gemv D=7 dtype=bf16"));
  ASSERT_THAT(groups[0].cases, SizeIs(2));
  EXPECT_EQ(groups[0].cases[1].spec.backend, "reference");
  EXPECT_EQ(groups[0].cases[1].spec.threads, 3);
  EXPECT_EQ(groups[0].cases[1].spec.caches, Caches::kHot);
  EXPECT_EQ(groups[0].cases[1].spec.seed, 42U);
  EXPECT_TRUE(groups[0].cases[1].spec.keep_wrong);
  EXPECT_EQ(groups[0].cases[1].spec.most_bytes, 1000U);
  EXPECT_EQ(groups[0].cases[1].spec.variant, "");
}

TEST(Plan, ThreadsAreComparedAsAskedForElseAsDeclared) {
  ExperimentDescription scaling = layer_norm();
  scaling.threads = {1, 2};
  const std::vector<RunnerOffer> offers{{"native", {scaling}, false}};
  const auto threads_of = [&](const Selection& selection) {
    std::vector<int> counts;
    for (const PlannedCase& planned : plan(offers, selection).at(0).cases)
      counts.push_back(planned.spec.threads);
    return counts;
  };
  Selection selection;
  selection.default_threads = 8;
  EXPECT_THAT(threads_of(selection), ElementsAre(1, 2));
  EXPECT_EQ(most_threads(plan(offers, selection)), 2);
  EXPECT_EQ(plan(one_runner(), selection)[0].cases[0].spec.threads, 8);
  selection.threads = {4, 1};
  EXPECT_THAT(threads_of(selection), ElementsAre(4, 1));
}

TEST(Plan, CompanyMeasuresWhatOthersHave) {
  RunnerOffer company{"native", {gemv(), layer_norm()}, false};
  company.is_company = true;
  const std::vector<RunnerOffer> offers{{"mine", {layer_norm()}, false}, company};
  const auto groups = plan(offers, {});
  EXPECT_THAT(titles(groups), ElementsAre("layer_norm dtype=bf16"));
  EXPECT_THAT(groups[0].cases, SizeIs(2));
  EXPECT_FALSE(plan(offers, asking({"gemv"})).empty());
}

TEST(Plan, ABackendLeavesOutWhoDoesNotHaveIt) {
  const auto groups = plan(one_runner(), asking({}, {"D=1"}, {"reference"}));
  EXPECT_THAT(titles(groups), ElementsAre("gemv D=1 dtype=int8", "gemv D=1 dtype=bf16"));
  EXPECT_EQ(groups[0].cases[0].spec.backend, "reference");
}

TEST(Plan, AValueThatOnlyOneTakesLeavesOutTheOthers) {
  EXPECT_THAT(titles(plan(one_runner(), asking({}, {"dtype=int8", "D=1"}))),
              ElementsAre("gemv D=1 dtype=int8"));
}

TEST(Plan, RunnersWithTheSameExperimentAreCompared) {
  ExperimentDescription other = gemv();
  other.backends = {"aten", "reference"};
  const std::vector<RunnerOffer> offers{{"a", {gemv()}, false}, {"b", {layer_norm(), other}, false}};
  const auto groups = plan(offers, asking({"gemv"}, {"D=1", "dtype=int8"}));
  ASSERT_THAT(groups, SizeIs(1));
  ASSERT_THAT(groups[0].cases, SizeIs(2));
  EXPECT_EQ(groups[0].cases[0].runner, 0U);
  EXPECT_EQ(groups[0].cases[0].spec.backend, "native");
  EXPECT_EQ(groups[0].cases[1].runner, 1U);
  EXPECT_EQ(groups[0].cases[1].spec.backend, "aten");
  EXPECT_THAT(plan(offers, asking({"gemv"}, {"D=1", "dtype=int8"}, {"all"}))[0].cases, SizeIs(4));
}

TEST(Plan, ARunnerForLimitsIsReachedByNameOnly) {
  const std::vector<RunnerOffer> offers{{"mine", {layer_norm()}, false},
                                        {"native", {gemv(), layer_norm(), read_limit()}, true}};
  const auto groups = plan(offers, {});
  EXPECT_THAT(titles(groups), ElementsAre("layer_norm dtype=bf16"));
  EXPECT_THAT(groups[0].cases, SizeIs(1)) << "ours does not join a comparison that nobody asked for";
  const auto named = plan(offers, asking({"limit.read"}));
  EXPECT_THAT(titles(named), ElementsAre("limit.read bytes=1024"));
  EXPECT_TRUE(named[0].cases[0].is_limit);
  EXPECT_EQ(named[0].cases[0].runner, 1U);
}

TEST(Plan, TypingErrorsAreNamedWithWhatIsNear) {
  EXPECT_THAT(error_of(asking({"gemw"})), AllOf(HasSubstr("unknown experiment 'gemw'"), HasSubstr("'gemv'")));
  EXPECT_THAT(error_of(asking({"gemv"}, {"dtyp=int8"})),
              AllOf(HasSubstr("no selected experiment has an axis 'dtyp'"), HasSubstr("did you mean 'dtype'"),
                    HasSubstr("axes: D, dtype")));
  EXPECT_THAT(error_of(asking({}, {}, {"nativ"})),
              AllOf(HasSubstr("backend 'nativ'"), HasSubstr("did you mean 'native'"),
                    HasSubstr("backends: native, reference")));
  EXPECT_THAT(error_of(asking({"gemv"}, {"dtype=f32"})),
              AllOf(HasSubstr("axis dtype cannot be 'f32'"), HasSubstr("one of int8, bf16")));
  EXPECT_THAT(error_of(asking({"gemv"}, {"D=0"})),
              AllOf(HasSubstr("axis D cannot be '0'"), HasSubstr("a positive integer")));
  EXPECT_THAT(error_of(asking({"layer_norm"}, {"D=1"})), HasSubstr("axis 'D'"));
}

TEST(Plan, NothingToMeasureIsAnError) {
  EXPECT_THROW(plan({}, {}), Error);
  const std::vector<RunnerOffer> offers{{"native", {read_limit()}, false}};
  EXPECT_THROW(plan(offers, {}), Error);
}

}  // namespace
}  // namespace headroom
