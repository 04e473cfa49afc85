// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "../error_message.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/schedule/limits.h"
#include "headroom/schedule/plan.h"

namespace headroom {
namespace {

using namespace testing;

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
  EXPECT_THAT(groups[0].cases[0].spec.axes, ElementsAre(Pair("D", "1024"), Pair("dtype", "int8")));
}

TEST(Plan, CasesHaveTheDeclaredTypesOfTheirAxes) {
  ExperimentDescription typed = layer_norm();
  typed.axes = {{"mode", Axis::Kind::kText, {"0", "x"}, {AxisType::kText, AxisType::kText}},
                {"share", Axis::Kind::kReal, {"1", "0.5"}, {AxisType::kAsWritten, AxisType::kReal}}};
  const std::vector<RunnerOffer> offers{{"python", {typed}, false}};
  const auto types_at = [&](const std::string& share) {
    return plan(offers, asking({"layer_norm"}, {"mode=0", "share=" + share})).at(0).cases.at(0).spec.types;
  };
  EXPECT_THAT(types_at("1"), ElementsAre(AxisType::kText, AxisType::kAsWritten));
  EXPECT_THAT(types_at("3"), ElementsAre(AxisType::kText, AxisType::kReal)) << "as the axis has it";
  EXPECT_THAT(plan(one_runner(), {})[0].cases[0].spec.types, IsEmpty());
}

TEST(Plan, ARunnerWithoutAPointIsLeftOutOfItsGroup) {
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
  EXPECT_EQ(max_threads(plan(offers, selection)), 2);
  EXPECT_EQ(plan(one_runner(), selection)[0].cases[0].spec.threads, 8);
  selection.threads = {4, 1};
  EXPECT_THAT(threads_of(selection), ElementsAre(4, 1));
}

TEST(Plan, CompanyMeasuresWhatOthersHave) {
  RunnerOffer company{"native", {gemv(), layer_norm()}, false};
  company.is_companion = true;
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

TEST(Plan, PatternsSelectWhatIsMeasuredByDefaultElseWhatMatches) {
  const std::vector<RunnerOffer> offers{{"native", {gemv(), layer_norm(), read_limit()}, false}};
  EXPECT_THAT(titles(plan(offers, asking({"*"}, {}))), Not(Contains(StartsWith("limit."))));
  EXPECT_THAT(titles(plan(offers, asking({"l*"}))), ElementsAre("layer_norm dtype=bf16"));
  EXPECT_THAT(titles(plan(offers, asking({"limit.*"}))), ElementsAre("limit.read bytes=1024"));
  EXPECT_THAT(titles(plan(offers, asking({"g?mv", "layer_norm"}, {"dtype=bf16"}))),
              Contains("layer_norm dtype=bf16"));
  EXPECT_THAT(error_of(asking({"x*"})), HasSubstr("unknown experiment 'x*'"));
  ExperimentDescription starred = layer_norm();
  starred.name = "l*";
  EXPECT_THAT(titles(plan({{"mine", {starred, layer_norm()}, false}}, asking({"l*"}))),
              ElementsAre("l* dtype=bf16"));
}

TEST(Plan, AFilterKeepsTheCasesWhoseNameItMatches) {
  const std::vector<RunnerOffer> offers{{"native", {gemv(), layer_norm(), read_limit()}, false}};
  Selection selection;
  selection.filter = "^gemv.*int8";
  const auto kept = titles(plan(offers, selection));
  EXPECT_THAT(kept, Not(IsEmpty()));
  EXPECT_THAT(kept, Each(AllOf(StartsWith("gemv"), HasSubstr("dtype=int8"))));
  selection.filter = "fp4";
  EXPECT_THROW(plan(offers, selection), Error);
  selection.filter = "(";
  EXPECT_THROW(plan(offers, selection), Error);
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

std::vector<RunnerOffer> offers() {
  const Axis bytes{"bytes", Axis::Kind::kInteger, {"1024"}};
  const Axis pattern{"pattern", Axis::Kind::kText, {"linear", "split"}};
  return {{"mine", {}, false},
          {"native",
           {{"limit.read", "", "", "cpu", {bytes, pattern}, {"native"}, true},
            {"limit.write", "", "", "cpu", {bytes}, {"native"}, true},
            {"limit.copy", "", "", "cpu", {bytes}, {"native"}, true},
            {"limit.peak", "", "", "cpu", {{"dtype", Axis::Kind::kText, {"f32", "bf16"}}}, {"native"}, true},
            {"limit.pingpong", "", "", "cpu", {}, {"native"}, true}},
           true}};
}

PlannedCase planned(int threads = 1) {
  PlannedCase made;
  made.spec.threads = threads;
  made.spec.caches = Caches::kHot;
  made.device = "cpu";
  return made;
}

Track bounded(PlannedCase planned, Work work) {
  Track made;
  made.planned = std::move(planned);
  made.info.work = std::move(work);
  return made;
}

std::vector<LimitTrack> candidates(Work work, int threads = 1) {
  return limit_candidates(offers(), bounded(planned(threads), std::move(work)));
}

std::vector<std::string> names(const std::vector<LimitTrack>& limits) {
  std::vector<std::string> found;
  for (const LimitTrack& limit : limits) {
    std::string name = limit.track.planned.spec.experiment;
    for (const auto& [axis, value] : limit.track.planned.spec.axes) name += " " + value;
    found.push_back(name);
  }
  return found;
}

TEST(LimitCandidates, FollowTheTraffic) {
  EXPECT_THAT(names(candidates({.bytes = 5000, .dtype = {}})),
              ElementsAre("limit.read 5000 linear", "limit.read 5000 split"));
  EXPECT_THAT(names(candidates({.bytes = 5000, .bytes_written = 5000, .dtype = {}})),
              ElementsAre("limit.write 5000"));
  EXPECT_THAT(names(candidates({.bytes = 5000, .bytes_written = 2500, .dtype = {}})),
              ElementsAre("limit.copy 5000"));
  EXPECT_THAT(names(candidates({.bytes = 5000, .bytes_written = 1000, .dtype = {}})),
              ElementsAre("limit.read 3000 linear", "limit.read 3000 split", "limit.copy 2000"));
  EXPECT_THAT(names(limit_candidates(offers(),
                                     bounded(planned(), {.bytes = 5000, .bytes_written = 20, .dtype = {}}))),
              ElementsAre("limit.read 4960 linear", "limit.read 4960 split"))
      << "a copy of under 2 % does not count";
}

TEST(LimitCandidates, ThePeakIsOfTheWorksType) {
  EXPECT_THAT(names(candidates({.flops = 9, .dtype = "bf16"})), ElementsAre("limit.peak bf16"));
  EXPECT_THAT(candidates({.flops = 9, .dtype = "f64"}), IsEmpty());
  EXPECT_THAT(candidates({.flops = 0, .dtype = "f32"}), IsEmpty());
}

TEST(LimitCandidates, TakeTheThreadsAndCachesOfTheCase) {
  const auto found = candidates({.flops = 9, .dtype = "f32"}, 4);
  EXPECT_THAT(names(found), ElementsAre("limit.peak f32", "limit.pingpong"));
  for (const LimitTrack& limit : found) {
    EXPECT_EQ(limit.track.planned.spec.threads, 4);
    EXPECT_EQ(limit.track.planned.spec.caches, Caches::kHot);
    EXPECT_EQ(limit.track.planned.runner, 1U);
    EXPECT_TRUE(limit.track.planned.is_limit);
  }
  PlannedCase elsewhere = planned(4);
  elsewhere.device = "cuda";
  EXPECT_THAT(limit_candidates(offers(), bounded(elsewhere, {.flops = 9, .bytes = 5000, .dtype = "f32"})),
              IsEmpty());
}

TEST(LimitCandidates, OneThreadMayBeFasterThanSeveralInItsCaches) {
  const auto threads = [](const Work& work) {
    std::vector<int> found;
    for (const LimitTrack& limit : limit_candidates(offers(), bounded(planned(4), work)))
      found.push_back(limit.track.planned.spec.threads);
    return found;
  };
  EXPECT_THAT(threads({.bytes = 5000, .bytes_written = 2500, .dtype = {}}), ElementsAre(4, 1, 4))
      << "copies by four and by one, and the ping-pong of four";
  Track cold = bounded(planned(4), {.bytes = 5000, .dtype = {}});
  cold.planned.spec.caches = Caches::kCold;
  cold.info.copies = 2;
  EXPECT_THAT(limit_candidates(offers(), cold), SizeIs(3)) << "two patterns by four, and the ping-pong";
  EXPECT_THAT(threads({.bytes = 1e9, .bytes_written = 5e8, .dtype = {}}), ElementsAre(4, 4));
  EXPECT_THAT(threads({.flops = 9, .dtype = "f32"}), ElementsAre(4, 4));
}

TEST(LimitCandidates, WhatDoesNotRotateItsInputsIsHot) {
  Track cold = bounded(planned(), {.bytes = 5000, .dtype = {}});
  cold.planned.spec.caches = Caches::kCold;
  EXPECT_EQ(limit_candidates(offers(), cold).front().track.planned.spec.caches, Caches::kHot);
  cold.info.copies = 2;
  EXPECT_EQ(limit_candidates(offers(), cold).front().track.planned.spec.caches, Caches::kCold);
}

TEST(LimitCandidates, AreThoseOfTheCasesDevice) {
  std::vector<RunnerOffer> both = offers();
  const Axis bytes{"bytes", Axis::Kind::kInteger, {"1024"}};
  both.insert(both.begin(), {"cuda", {{"limit.read", "", "", "cuda", {bytes}, {"cuda"}, true}}, false});
  PlannedCase on_device = planned(4);
  on_device.device = "cuda";
  const auto found = limit_candidates(both, bounded(on_device, {.bytes = 1e15, .dtype = {}}));
  EXPECT_THAT(names(found), ElementsAre("limit.read " + std::to_string(1 << 30)))
      << "neither the host's ping-pong nor a cap by the host's caches";
  EXPECT_EQ(found[0].track.planned.runner, 0U);
  EXPECT_EQ(found[0].track.planned.device, "cuda");
  std::vector<LimitTrack> all = found;
  for (LimitTrack& limit : limit_candidates(both, bounded(planned(4), {.bytes = 5000, .dtype = {}})))
    all.push_back(limit);
  EXPECT_THAT(names(limits_of(bounded(planned(4), {}), all)),
              ElementsAre("limit.read 5000 linear", "limit.read 5000 linear", "limit.read 5000 split",
                          "limit.read 5000 split", "limit.pingpong"))
      << "by four threads and by one";
  EXPECT_THAT(limits_of(bounded(on_device, {}), all), SizeIs(1));
}

std::vector<RunnerOffer> offers_of_ranks() {
  std::vector<RunnerOffer> all = offers();
  const Axis bytes{"bytes", Axis::Kind::kInteger, {"1024"}}, ranks{"ranks", Axis::Kind::kInteger, {"2"}};
  all[0].experiments.push_back({"limit.exchange", "", "", "cpu", {bytes, ranks}, {"gloo"}, true});
  for (const char* host : {"here", "there", "here", "there"}) all[0].ranks.emplace_back().host = host;
  return all;
}

Track bounded_on(int ranks, Work work) {
  Track track = bounded(planned(3), std::move(work));
  track.planned.spec.axes = {{"ranks", std::to_string(ranks)}};
  return track;
}

TEST(LimitCandidates, RanksShareTheirMachineAndExchange) {
  const Work work{.flops = 9, .dtype = "f32", .exchanged = 400};
  const auto found = limit_candidates(offers_of_ranks(), bounded_on(4, work));
  EXPECT_THAT(names(found), ElementsAre("limit.peak f32", "limit.exchange 400 4"))
      << "and no ping-pong of threads, which lie where the ranks are";
  EXPECT_EQ(found.at(0).track.planned.spec.threads, 6) << "three of each rank on the machine of the first";
  EXPECT_EQ(found.at(1).track.planned.spec.threads, 3);
  EXPECT_EQ(found.at(1).track.planned.runner, 0U);
  EXPECT_THAT(limit_candidates(offers(), bounded_on(4, work)), SizeIs(2)) << "of no job of ranks";
}

TEST(LimitCandidates, AreThoseOfAsManyRanks) {
  const Work work{.dtype = {}, .exchanged = 400};
  std::vector<LimitTrack> all;
  for (const int ranks : {2, 4}) {
    for (LimitTrack& limit : limit_candidates(offers_of_ranks(), bounded_on(ranks, work)))
      all.push_back(std::move(limit));
  }
  EXPECT_THAT(names(limits_of(bounded_on(4, work), all)), ElementsAre("limit.exchange 400 4"));
  EXPECT_FALSE(share_limits(bounded_on(2, work), bounded_on(4, work)));
  EXPECT_TRUE(share_limits(bounded_on(2, work), bounded_on(2, {})));
}

TEST(LimitCandidates, AHugeWorkingSetIsCapped) {
  const auto found = candidates({.bytes = 1e15, .dtype = {}});
  const std::int64_t cap = std::max<std::int64_t>(4 * last_level_cache_bytes(), std::int64_t{1} << 30);
  EXPECT_EQ(found.at(0).track.planned.spec.axes.at(0).second, std::to_string(cap));
}

LimitTrack limit(Resource resource, const std::string& pattern, double amount,
                 const std::vector<double>& times, std::uint32_t first_round = 0) {
  LimitTrack made;
  made.resource = resource;
  made.track.planned.spec.experiment = resource == Resource::kPeak ? "limit.peak" : "limit.read";
  made.track.planned.spec.axes = {{"pattern", pattern}};
  (resource == Resource::kPeak ? made.track.info.work.flops : made.track.info.work.bytes) = amount;
  made.track.calibrated_ns = times.empty() ? 0 : times.front();
  for (const double ns : times) made.track.readings.push_back({first_round++, 0, ns, {}});
  return made;
}

TEST(LooseCandidates, KeepThePatternsNearTheBest) {
  std::vector<LimitTrack> limits{
      limit(Resource::kRead, "best", 100, {100}), limit(Resource::kRead, "near", 100, {114}),
      limit(Resource::kRead, "far", 100, {116}), limit(Resource::kRead, "dead", 100, {90}),
      limit(Resource::kPingPong, "", 0, {50})};
  limits[3].track.outcome = {Outcome::Kind::kFailed, "lost"};
  drop_loose_candidates(limits, {.bytes = 1000, .dtype = {}}, false);
  EXPECT_THAT(names(limits), ElementsAre("limit.read best", "limit.read near", "limit.read "));
}

TEST(LooseCandidates, KeepTheResourcesThatMayBind) {
  // 1 byte/ns, 10 FLOP/ns: 1000 bytes in 1000 ns.
  const auto kept = [](double flops, bool needs_peak) {
    std::vector<LimitTrack> limits{limit(Resource::kRead, "r", 100, {100}),
                                   limit(Resource::kPeak, "p", 1000, {100})};
    drop_loose_candidates(limits, {.flops = flops, .bytes = 1000, .dtype = "f32"}, needs_peak);
    return limits.size() == 2 ? "both" : limits.at(0).resource == Resource::kPeak ? "peak" : "memory";
  };
  EXPECT_STREQ(kept(1'200, false), "memory");
  EXPECT_STREQ(kept(1'200, true), "both");
  EXPECT_STREQ(kept(1'300, false), "both");
  EXPECT_STREQ(kept(499'000, false), "both");
  EXPECT_STREQ(kept(501'000, false), "peak");
}

TEST(LooseCandidates, OneSlowCalibrationDoesNotCostTheLimitThatBinds) {
  // Calibration: forty times too long.
  std::vector<LimitTrack> limits{limit(Resource::kRead, "r", 100, {100}),
                                 limit(Resource::kPeak, "p", 1000, {4000})};
  drop_loose_candidates(limits, {.flops = 7'000, .bytes = 1000, .dtype = "f32"}, false);
  EXPECT_THAT(names(limits), Contains("limit.read r"));
}

TEST(Floor, IsTheRooflineOfEachRound) {
  // Bytes per ns: 10, 5, 10; FLOPs per ns: 100, 100, 20.
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "linear", 1000, {100, 200, 100}),
                                       limit(Resource::kPeak, "f32", 1000, {10, 10, 50})};
  const auto floor = floor_of(limits, {.flops = 6000, .bytes = 2000, .dtype = "f32"});
  ASSERT_TRUE(floor);
  // Memory: 200, 400, 200 ns; compute: 60, 60, 300 ns.
  EXPECT_THAT(floor->series.values,
              ElementsAre(DoubleNear(200, 1e-9), DoubleNear(400, 1e-9), DoubleNear(300, 1e-9)));
  EXPECT_THAT(floor->series.rounds, ElementsAre(0, 1, 2));
  EXPECT_THAT(floor->series.group_sizes, ElementsAre(3));
  EXPECT_THAT(floor->peak_flops.values, ElementsAre(DoubleEq(1e11), DoubleEq(1e11), DoubleNear(2e10, 1)));
  EXPECT_EQ(limit_name({floor->parts}), "read linear") << "memory bound in total";
}

TEST(Floor, WhatRanksExchangeBindsWhereItTakesLongest) {
  // 10 bytes and 100 FLOPs per ns; 1 byte/ns between ranks.
  LimitTrack exchange = limit(Resource::kExchange, "shared_memory", 0, {1000, 1000});
  exchange.track.planned.spec.experiment = "limit.exchange";
  exchange.track.info.work.exchanged = 1000;
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "linear", 1000, {100, 100}),
                                       limit(Resource::kPeak, "f32", 1000, {10, 10}), exchange};
  const auto floor = floor_of(limits, {.flops = 6000, .bytes = 2000, .dtype = "f32", .exchanged = 300});
  ASSERT_TRUE(floor);
  EXPECT_THAT(floor->series.values, ElementsAre(DoubleNear(300, 1e-9), DoubleNear(300, 1e-9)));
  EXPECT_EQ(limit_name({floor->parts}), "exchange shared_memory");
  const auto without = floor_of(limits, {.flops = 6000, .bytes = 2000, .dtype = "f32"});
  EXPECT_EQ(limit_name({without->parts}), "read linear");
}

TEST(Floor, ShortSamplesThatABusyMachineHeldUpDoNotBind) {
  // Preempted in most rounds, as the peak's samples are short.
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "linear", 1000, {100, 110, 120}),
                                       limit(Resource::kPeak, "f32", 1000, {9000, 10, 4000})};
  const auto memory_bound = floor_of(limits, {.flops = 400, .bytes = 1000, .dtype = "f32"});
  ASSERT_TRUE(memory_bound);
  EXPECT_THAT(memory_bound->series.values,
              ElementsAre(DoubleNear(100, 1e-9), DoubleNear(110, 1e-9), DoubleNear(120, 1e-9)));
  EXPECT_EQ(limit_name({memory_bound->parts}), "read linear");
  EXPECT_THAT(memory_bound->peak_flops.values, SizeIs(3));
  const auto either = floor_of(limits, {.flops = 4000, .bytes = 1000, .dtype = "f32"});
  ASSERT_TRUE(either);
  EXPECT_NEAR(either->series.values.at(0), 36'000, 1e-6) << "40 ns at its best: it may bind";
}

TEST(Floor, SplitsReadsAndCopies) {
  // 2000 bytes at the copy rate of 4 per ns, 1000 at the read rate of 10 per ns.
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "r", 1000, {100}),
                                       limit(Resource::kCopy, "c", 1000, {250})};
  const auto floor = floor_of(limits, {.bytes = 3000, .bytes_written = 1000, .dtype = {}});
  ASSERT_TRUE(floor);
  EXPECT_NEAR(floor->series.values.at(0), 2000 / 4.0 + 1000 / 10.0, 1e-9);
  EXPECT_THAT(limit_name({floor->parts}), AllOf(HasSubstr("read r"), HasSubstr("read c"), HasSubstr(" + ")));
}

TEST(Floor, GoesByTheBestPattern) {
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "slow", 1000, {150, 90, 150}),
                                       limit(Resource::kRead, "fast", 2000, {200, 200, 200})};
  const auto floor = floor_of(limits, {.bytes = 1000, .dtype = {}});
  ASSERT_TRUE(floor);
  EXPECT_EQ(limit_name({floor->parts}), "read fast");
  EXPECT_NEAR(floor->series.values.at(1), 100, 1e-9);
}

TEST(Floor, NeedsARoundWithAllResources) {
  const std::vector<LimitTrack> limits{limit(Resource::kRead, "r", 1000, {100, 100, 100}),
                                       limit(Resource::kPeak, "p", 1000, {10, 10, 10}, 2)};
  const auto floor = floor_of(limits, {.flops = 1, .bytes = 1000, .dtype = "f32"});
  ASSERT_TRUE(floor);
  EXPECT_THAT(floor->series.rounds, ElementsAre(2));
  EXPECT_FALSE(floor_of({}, {.bytes = 1000, .dtype = {}}));
  EXPECT_FALSE(floor_of({limit(Resource::kRead, "r", 1000, {})}, {.bytes = 1000, .dtype = {}}));
}

}  // namespace
}  // namespace headroom
