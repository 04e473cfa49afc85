// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/command/cache_estimate.h"
#include "headroom/command/cache_records.h"
#include "headroom/command/cache_table.h"
#include "headroom/command/measured_command.h"
#include "headroom/process/temporary_folder.h"

namespace headroom {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A "compiler" that costs 8 in a cold cache and 2 in a warm one, and does `extra` before it writes its
/// price.
std::string compiler(const std::string& extra = ":") {
  return "c=$MINE/{model}; if test -e $c; then n=2; else n=8; fi; echo x > $c || exit 5; " + extra +
         "; echo cost $n > {output}";
}

class CacheRunTest : public testing::Test {
 protected:
  CacheRequest request(const std::string& script, std::vector<std::string> models, std::size_t repeat) {
    CacheRequest request;
    request.suite.name = "toy";
    request.suite.benchmark = "Toy";
    request.suite.models = models;
    request.suite.layers = {parse_layer("env:MINE")};
    request.suite.command = shell_arguments(script);
    request.suite.metric = parse_metric("output:cost (.*)");
    request.suite.metric.name = "cost";
    request.suite.metric.unit = "units";
    request.suite.timeout_s = 60;
    request.models = std::move(models);
    request.repeat = repeat;
    request.journal = folder_.path() / "journal";
    return request;
  }
  TemporaryFolder folder_;
};

TEST_F(CacheRunTest, PairsAreColdAndThenWarm) {
  CacheRequest toy = request(compiler(), {"a", "b"}, 3);
  toy.warm_twice = true;
  std::vector<std::string> phases;
  std::size_t told = 0;
  CacheObserver observer;
  observer.on_step = [&](const CacheStep& step) { phases.emplace_back(step.phase); };
  observer.on_progress = [&](const CacheRun&) { ++told; };
  const CacheRun run = run_cache(toy, observer, {});
  ASSERT_EQ(run.models.size(), 2U);
  for (const ModelRun& model : run.models) {
    EXPECT_EQ(model.failure, "");
    EXPECT_THAT(cold_values(model), ElementsAre(8, 8, 8));
    EXPECT_THAT(warm_values(model), ElementsAre(2, 2, 2));
    for (const CachePair& pair : model.pairs) {
      EXPECT_EQ(pair.warm_again, 2);
      EXPECT_EQ(pair.layers[0].before.files, 0U);
      EXPECT_EQ(pair.layers[0].after_cold.files, 1U);
      EXPECT_EQ(pair.layers[0].after_warm.bytes, 2U);
      EXPECT_EQ(pair.layers[0].warmth, "");
    }
  }
  EXPECT_EQ(told, 6U);
  EXPECT_EQ(phases.size(), 18U);
  ASSERT_GE(phases.size(), 3U);
  EXPECT_THAT(std::vector(phases.begin(), phases.begin() + 3), ElementsAre("cold", "warm", "warm again"));
}

TEST_F(CacheRunTest, AFailingModelDoesNotTouchTheOthers) {
  struct Fault {
    std::string script, message;
  };
  const Fault faults[] = {
      {"echo first >&2; echo no memory >&2; exit 3", "cold run of pair 1: exit code 3: first / no memory"},
      {"kill -SEGV $$", "killed by signal 11"},
      {"rm -r $MINE", "removed the folder of the cache layer 'env:MINE'"},
      {"test $n = 8 || exit 4", "warm run of pair 1: exit code 4"},
      {"echo none > {output}; exit 0", "nothing in the file that it wrote"},
      {"exit 0", "it wrote no file {output}"},
  };
  for (const Fault& fault : faults) {
    CacheRequest toy =
        request(compiler("if test {model} = bad; then " + fault.script + "; fi"), {"bad", "good"}, 2);
    toy.suite.random_order = false;
    const CacheRun run = run_cache(toy, {}, {});
    EXPECT_THAT(run.models[0].failure, HasSubstr(fault.message));
    EXPECT_EQ(run.models[1].pairs.size(), 2U) << fault.script;
    EXPECT_EQ(run.models[1].failure, "");
    EXPECT_THAT(cache_sheet(toy, run).text(), HasSubstr("FAILED: bad: "));
  }
}

TEST_F(CacheRunTest, AModelThatHangsIsEnded) {
  CacheRequest toy = request(compiler("if test {model} = bad; then sleep 100; fi"), {"bad", "good"}, 1);
  toy.suite.timeout_s = 0.5;
  const CacheRun run = run_cache(toy, {}, {});
  EXPECT_THAT(run.models[0].failure, HasSubstr("timed out after 0.5 s"));
  EXPECT_EQ(run.models[1].pairs.size(), 1U);
}

TEST_F(CacheRunTest, AMissingProgramIsAFailureOfItsModels) {
  CacheRequest toy = request("", {"a"}, 1);
  toy.suite.command = {"no-such-program"};
  EXPECT_THAT(run_cache(toy, {}, {}).models[0].failure, HasSubstr("not found in PATH"));
}

TEST_F(CacheRunTest, PairsBeforeAFailureAreKept) {
  const std::string count = folder_.path() / "count";
  CacheRequest toy =
      request(compiler("echo x >> " + count + "; test $(wc -l < " + count + ") -lt 5 || exit 6"), {"a"}, 4);
  const CacheRun run = run_cache(toy, {}, {});
  EXPECT_EQ(run.models[0].pairs.size(), 2U);
  EXPECT_THAT(run.models[0].failure, HasSubstr("cold run of pair 3: exit code 6"));
  EXPECT_EQ(cachebench_json(toy, run), "") << "as the program that it replaces: all or nothing of a model";
  const std::vector<Record> records = cache_records(toy, run, nullptr);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].outcome.kind, Outcome::Kind::kFailed);
  EXPECT_THAT(records[0].samples[0].values, ElementsAre(8, 8));
}

TEST_F(CacheRunTest, CtrlCDropsThePairThatItEnds) {
  CacheRequest toy = request(compiler("test $n = 8 || sleep 100"), {"a", "b"}, 2);
  std::size_t steps = 0;
  CacheObserver observer;
  observer.on_step = [&](const CacheStep&) { ++steps; };
  const CacheRun run = run_cache(toy, observer, [&] { return steps == 2; });
  EXPECT_TRUE(run.interrupted);
  for (const ModelRun& model : run.models) {
    EXPECT_THAT(model.pairs, IsEmpty());
    EXPECT_EQ(model.failure, "");
  }
}

TEST(PairOrder, IsRandomInEachRoundOrAsListed) {
  EXPECT_THAT(pair_order(2, 3, false, 1), ElementsAre(0, 0, 0, 1, 1, 1));
  const std::vector<std::size_t> order = pair_order(3, 200, true, 1);
  std::map<std::vector<std::size_t>, int> rounds;
  for (std::size_t i = 0; i < order.size(); i += 3) ++rounds[{order.begin() + i, order.begin() + i + 3}];
  EXPECT_EQ(rounds.size(), 6U) << "every permutation, and nothing else";
  for (const auto& [round, count] : rounds) EXPECT_GT(count, 15);
  EXPECT_EQ(order, pair_order(3, 200, true, 1));
  EXPECT_NE(order, pair_order(3, 200, true, 2));
}

ModelRun model_of(const std::vector<std::pair<double, double>>& pairs) {
  ModelRun model{"m", {}, ""};
  for (const auto& [cold, warm] : pairs) {
    CachePair pair;
    pair.round = static_cast<std::uint32_t>(model.pairs.size());
    pair.cold = cold;
    pair.warm = warm;
    model.pairs.push_back(pair);
  }
  return model;
}

TEST(CacheEstimate, OfPairs) {
  const ModelRun model = model_of({{8, 2}, {16, 4}, {9, 3}});
  const auto gain = speed_up(model, Direction::kLowerIsBetter);
  ASSERT_TRUE(gain && gain->interval);
  EXPECT_DOUBLE_EQ(gain->value, 4);
  // ln 4, ln 4, ln 3: mean 1.29040, s = 0.16609, t(0.975, 2) = 4.30265.
  EXPECT_NEAR(gain->interval->low, std::exp(1.2904004 - 4.302653 * 0.1660942 / std::sqrt(3.0)), 1e-4);
  EXPECT_NEAR(gain->interval->high, std::exp(1.2904004 + 4.302653 * 0.1660942 / std::sqrt(3.0)), 1e-4);
  EXPECT_DOUBLE_EQ(speed_up(model, Direction::kHigherIsBetter)->value, 0.25);
  EXPECT_DOUBLE_EQ(*saved_share(*gain, Direction::kLowerIsBetter), 0.75);
  EXPECT_FALSE(saved_share(*gain, Direction::kHigherIsBetter));
  EXPECT_DOUBLE_EQ(*cachebench_percent(model), (1 - 9.0 / 33) * 100);
  EXPECT_FALSE(speed_up(model_of({{0, 1}}), Direction::kLowerIsBetter));
  EXPECT_FALSE(cachebench_percent(model_of({{0, 0}})));
  EXPECT_FALSE(speed_up(model_of({{2, 1}}), Direction::kLowerIsBetter)->interval) << "one pair has no spread";
}

TEST(CacheEstimate, AFirstColdRunThatWasMuchSlowerTellsOfACacheWithoutAName) {
  const auto excess = [](const std::vector<double>& cold, Direction direction = Direction::kLowerIsBetter) {
    std::vector<std::pair<double, double>> pairs;
    for (const double value : cold) pairs.emplace_back(value, 5);
    return first_cold_excess(model_of(pairs), direction).value_or(0);
  };
  EXPECT_NEAR(excess({40, 10, 10}), 4, 1e-12);
  EXPECT_NEAR(excess({40, 10.1, 9.9, 10.2, 30, 9.8}), 40 / 10.1, 1e-12) << "a later spike hides nothing";
  EXPECT_NEAR(excess({10, 40, 40}, Direction::kHigherIsBetter), 4, 1e-12);
  EXPECT_EQ(excess({40, 10}), 0) << "two pairs: which of them is the odd one?";
  EXPECT_EQ(excess({12, 10, 10}), 0) << "a fifth is what a first run costs anyway";
  EXPECT_EQ(excess({20, 10, 15, 12, 18, 11}), 0) << "they all differ so much";
  EXPECT_EQ(excess({10, 40, 40}), 0);
  EXPECT_EQ(excess({0, 10, 10}), 0);
}

TEST(CacheEstimate, FromSixPairsOnIsOfOrderStatistics) {
  const ModelRun model = model_of({{2, 1}, {2.2, 1}, {1.9, 1}, {2.1, 1}, {50, 1}, {2.05, 1}, {1.95, 1}});
  const auto gain = speed_up(model, Direction::kLowerIsBetter);
  EXPECT_DOUBLE_EQ(gain->value, 2.05);
  ASSERT_TRUE(gain->interval);
  EXPECT_GE(gain->interval->low, 1.88) << "one spike does not reach below what was measured";
}

TEST(CacheEstimate, OfASuiteIsTheGeometricMean) {
  CacheRun run;
  run.models = {model_of({{8, 2}, {8, 2}}), model_of({{9, 1}, {9, 1}, {9, 1}}), model_of({{1, 100}})};
  run.models[2].failure = "exit code 1";
  const auto mean = suite_speed_up(run, Direction::kLowerIsBetter);
  ASSERT_TRUE(mean);
  EXPECT_NEAR(mean->value, 6, 1e-12);
  EXPECT_EQ(mean->count, 2U) << "rounds that all models have";
  run.models[0].failure = run.models[1].failure = "x";
  EXPECT_FALSE(suite_speed_up(run, Direction::kLowerIsBetter));
}

/// A run of two models that was measured, with layers.
struct Measured {
  CacheRequest request;
  CacheRun run;
  Measured() {
    request.suite.name = "toy";
    request.suite.benchmark = "Toy";
    request.suite.layers = {parse_layer("ccache")};
    request.suite.metric = parse_metric("wall");
    request.suite.options = {{"mode", "mode", "slow", {{"slow", {}}}},
                             {"dynamic", "is_dynamic", "false", {{"false", {}}}}};
    request.options = {{"mode", "slow"}, {"dynamic", "false"}};
    request.repeat = 2;
    run.models = {model_of({{8, 2}, {8, 2}}), model_of({{9, 3}, {9, 3}})};
    run.models[0].model = "a";
    run.models[1].model = "b";
    for (ModelRun& model : run.models) {
      for (CachePair& pair : model.pairs) pair.layers = {{{0, 0}, {3, 100}, {4, 120}, ""}};
    }
  }
};

TEST(CacheRecords, HoldSamplesRoundsAndLayers) {
  const Measured measured;
  const std::vector<Record> records = cache_records(measured.request, measured.run, nullptr);
  ASSERT_EQ(records.size(), 7U) << "cold, warm, speedup of each, and the suite's";
  EXPECT_EQ(records[0].metric.name, "Cold wall time (s)");
  EXPECT_EQ(records[0].caches, "cold");
  EXPECT_THAT(records[0].samples[0].values, ElementsAre(8, 8));
  EXPECT_THAT(records[0].samples[0].rounds, ElementsAre(0, 1));
  EXPECT_EQ(records[0].metric.extra_info.at("layer.ccache"), "files 0 3 4, bytes 0 100 120");
  EXPECT_EQ(records[1].metric.name, "Warm wall time (s)");
  EXPECT_EQ(records[2].metric.name, "speedup");
  EXPECT_EQ(records[2].metric.direction, Direction::kHigherIsBetter);
  EXPECT_THAT(records[2].samples[0].values, Each(4));
  EXPECT_EQ(records[6].model.name, "geometric mean");
  EXPECT_NEAR(records[6].metric.value, std::sqrt(12.0), 1e-12);
  std::set<std::string> identities;
  for (const Record& record : records) identities.insert(identity(record));
  EXPECT_EQ(identities.size(), records.size());
}

TEST(CacheRecords, AreWrittenAsCachebenchDoes) {
  const Measured measured;
  const Json json = parse_json(cachebench_json(measured.request, measured.run), "output");
  ASSERT_EQ(json.size(), 6U);
  EXPECT_EQ(json[0]["benchmark"]["mode"], "slow");
  EXPECT_EQ(json[0]["benchmark"]["extra_info"]["is_dynamic"], false);
  EXPECT_EQ(json[2]["metric"]["name"], "Speedup (%)");
  EXPECT_EQ(json[2]["metric"]["benchmark_values"][0], 75.0);
}

TEST(CacheReport, ProvesThatColdWasCold) {
  Measured measured;
  std::string text = cache_sheet(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("cold was cold: before each of the 4 cold runs"));
  EXPECT_THAT(text, HasSubstr("fresh folder in CCACHE_DIR"));
  EXPECT_THAT(text, HasSubstr("geometric mean"));
  EXPECT_THAT(text, HasSubstr("Student's t"));
  measured.run.models[1].pairs[0].layers[0].warmth = "it held 2 files";
  text = cache_sheet(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("NOT COLD: ccache before a cold run of b: it held 2 files"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cold was cold")));
}

TEST(CacheReport, NoticesACacheThatNoLayerNames) {
  Measured measured;
  ModelRun& model = measured.run.models[0];
  for (const double cold : {10.0, 10.1, 9.9, 10.0}) {
    model.pairs.push_back(model.pairs.front());
    model.pairs.back().cold = cold;
    model.pairs.back().warm = 10.9;
  }
  model.pairs.erase(model.pairs.begin() + 1);
  model.pairs.front().cold = 40;
  const std::string text = cache_sheet(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("NOT COLD: a: the first cold run was 4 times as long as the 4 later ones"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cold was cold")));
  const std::vector<Record> records = cache_records(measured.request, measured.run, nullptr);
  EXPECT_THAT(records[0].notes, testing::Contains(HasSubstr("a cache that no layer names")));
  EXPECT_THAT(records[1].notes, IsEmpty()) << "the warm one";
}

TEST(CacheReport, TheSpeedUpAndWhatIsSavedAreOneNumber) {
  Measured measured;
  // By sums the warm runs take 8 % longer; in four of five pairs they are faster.
  measured.run.models[0] = model_of({{2, 1}, {2, 1}, {2, 1}, {2, 1}, {10, 15.5}});
  measured.run.models[0].model = "a";
  for (CachePair& pair : measured.run.models[0].pairs) pair.layers = {{{0, 0}, {3, 100}, {4, 120}, ""}};
  EXPECT_LT(*cachebench_percent(measured.run.models[0]), 0);
  EXPECT_THAT(cache_sheet(measured.request, measured.run).text(), testing::ContainsRegex("2.00x .* 50"));
  const std::vector<Record> records = cache_records(measured.request, measured.run, nullptr);
  EXPECT_EQ(records[2].metric.extra_info.at("saved_percent"), "50");
}

TEST(CacheReport, SaysWhichLayersWereNotUsed) {
  Measured measured;
  for (ModelRun& model : measured.run.models) {
    for (CachePair& pair : model.pairs) pair.layers = {LayerReading{}};
  }
  EXPECT_THAT(cache_sheet(measured.request, measured.run).text(),
              HasSubstr("unused: no command left anything in ccache"));
}

}  // namespace
}  // namespace headroom
