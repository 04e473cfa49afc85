// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/command/cache_layer.h"
#include "headroom/command/cache_results.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/measured_command.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Layer : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(cache_ / "deep");
    write_file_atomically(cache_ / "deep/old", "content");
  }
  std::unique_ptr<CacheLayer> open(const std::string& name) const {
    return open_layer(parse_layer(name), folder_.path(), temporary_, journal_);
  }
  void write(const fs::path& name) { write_file_atomically(name, "12345"); }

  TemporaryFolder folder_;
  fs::path temporary_ = folder_.path() / "tmp";
  fs::path journal_ = folder_.path() / "journal";
  fs::path cache_ = folder_.path() / "home/cache";
};

TEST_F(Layer, PartsOfInductorAreTakenAwayOneByOneAlsoThoseBelowTheTemporaryFolder) {
  const fs::path headers = temporary_ / "torchinductor_me/precompiled_headers";
  const auto layer = open("inductor");
  layer->clear();
  fs::create_directories(headers);
  write(headers / "big.gch");
  write(temporary_ / "torchinductor_me/other");
  for (const char* part : {"fxgraph", "aotautograd", "ab", "triton/0", "cache"}) {
    fs::create_directories(layer->folder() / part);
    write(layer->folder() / part / "x");
  }
  write(layer->folder() / "ab/y.best_config");
  EXPECT_EQ(layer->content().files, 7U);  // below TMPDIR only the header
  const std::vector<std::string> names = layer->parts();
  EXPECT_THAT(names, ElementsAre("inductor.fx_graph", "inductor.aot_autograd", "inductor.headers",
                                 "inductor.triton", "inductor.autotune", "inductor.code"));
  const std::vector<std::vector<fs::path>> files{
      {layer->folder() / "fxgraph/x"},
      {layer->folder() / "aotautograd/x"},
      {headers / "big.gch"},
      {layer->folder() / "triton/0/x"},
      {layer->folder() / "cache/x", layer->folder() / "ab/y.best_config"},
      {layer->folder() / "ab/x"}};
  const auto count = [](const std::vector<fs::path>& all) {
    return std::ranges::count_if(all, [](const fs::path& file) { return fs::exists(file); });
  };
  for (std::size_t part = 0; part < names.size(); ++part) {
    SCOPED_TRACE(names[part]);
    EXPECT_EQ(layer->part_content(part).files, files[part].size());
    layer->clear_part(part);
    for (std::size_t other = 0; other < names.size(); ++other)
      EXPECT_EQ(count(files[other]), other == part ? 0 : std::ssize(files[other])) << names[other];
    EXPECT_TRUE(fs::exists(temporary_ / "torchinductor_me/other"));
    EXPECT_EQ(layer->damage(), "");
    layer->restore_part(part);
    EXPECT_EQ(layer->content().files, 7U);  // below TMPDIR only the header
  }
  const LayerSpec spec = parse_layer("inductor");
  const LeftOver left = left_over(temporary_, {&spec, 1});
  EXPECT_EQ(left.content.files, 1U);
  EXPECT_EQ(left.where, "torchinductor_me");
}

TEST_F(Layer, WhatIsBroughtBackIsAsItWasAndNothingElseIsThere) {
  for (const std::string& name : {std::string("jax"), "folder:" + cache_.string()}) {
    SCOPED_TRACE(name);
    const auto layer = open(name);
    layer->clear();
    const fs::path folder = layer->folder();
    fs::create_directory(folder / "sub");
    write_file_atomically(folder / "sub/a", "as it was");
    const auto time = fs::last_write_time(folder / "sub/a");
    EXPECT_THAT(layer->parts(), ElementsAre(name));
    layer->clear_part(0);
    EXPECT_EQ(layer->folder(), folder);
    EXPECT_EQ(layer->content().files, 0U);
    fs::create_directories(folder / "sub");
    write_file_atomically(folder / "sub/a", "made again");
    write(folder / "new");
    layer->restore_part(0);
    EXPECT_EQ(read_file(folder / "sub/a"), "as it was");
    EXPECT_EQ(fs::last_write_time(folder / "sub/a"), time);
    EXPECT_FALSE(fs::exists(folder / "new"));
  }
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
  EXPECT_FALSE(fs::exists(folder_.path() / "home/.cache.headroom-warm"));
}

TEST_F(Layer, FreshFoldersAreNewAndEmptyEachTime) {
  const auto layer = open("jax");
  layer->clear();
  const fs::path first = layer->folder();
  EXPECT_THAT(layer->environment(), Contains(Pair("JAX_COMPILATION_CACHE_DIR", first.string())));
  EXPECT_THAT(layer->environment(), Contains(Key("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")));
  write(first / "a");
  fs::create_directory(first / "sub");
  write(first / "sub/b");
  EXPECT_EQ(layer->content().files, 2U);
  EXPECT_EQ(layer->content().bytes, 10U);
  EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("2 files"));
  layer->clear();
  EXPECT_NE(layer->folder(), first);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(layer->content().files, 0U);
  EXPECT_EQ(layer->warmth(layer->content()), "");
  EXPECT_EQ(layer->damage(), "");
  fs::remove(layer->folder());
  EXPECT_THAT(layer->damage(), HasSubstr("removed the folder of the cache layer 'jax'"));
}

TEST_F(Layer, AFolderIsSetAsideAndPutBack) {
  fs::permissions(cache_, fs::perms::owner_all);
  {
    const auto layer = open("folder:" + cache_.string());
    EXPECT_EQ(fs::status(cache_).permissions(), fs::perms::owner_all);
    EXPECT_EQ(layer->content().files, 0U);
    write(cache_ / "new");
    EXPECT_EQ(layer->content().files, 1U);
    layer->clear();
    EXPECT_EQ(layer->content().files, 0U);
    fs::remove(cache_);
    EXPECT_NE(layer->damage(), "");
  }
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(cache_), ElementsAre("deep"));
  EXPECT_THAT(names_in(cache_.parent_path()), ElementsAre("cache"));
  EXPECT_THAT(names_in(journal_), IsEmpty());
}

TEST_F(Layer, AFolderThatWasNotThereIsGoneAgain) {
  const fs::path none = folder_.path() / "home/none";
  {
    SetAsideFolder aside(none, journal_);
    write(none / "new");
  }
  EXPECT_FALSE(fs::exists(none));
}

TEST_F(Layer, LinksAreFollowed) {
  fs::create_directory_symlink(cache_, folder_.path() / "link");
  {
    const SetAsideFolder aside(folder_.path() / "link", journal_);
    EXPECT_EQ(aside.folder(), fs::canonical(cache_));
    EXPECT_THAT(names_in(folder_.path() / "link"), IsEmpty());
  }
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
}

TEST_F(Layer, WhatMustNotBeSetAside) {
  EXPECT_THROW(SetAsideFolder("/", journal_), Error);
  EXPECT_THROW(SetAsideFolder(cache_ / "deep/old", journal_), Error);
}

TEST_F(Layer, TwoProgramsDoNotSetAsideTheSameFolder) {
  {
    const SetAsideFolder aside(cache_, journal_);
    EXPECT_THROW(SetAsideFolder(cache_, journal_), Error);
    EXPECT_THAT(recover_set_aside(journal_), IsEmpty()) << "in use";
    EXPECT_TRUE(fs::exists(aside.aside() / "deep/old"));
  }
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
}

TEST_F(Layer, WhatSomebodyElseMovedBackIsNotRemoved) {
  {
    SetAsideFolder aside(cache_, journal_);
    fs::remove_all(cache_);
    fs::rename(aside.aside(), cache_);
    EXPECT_THROW(aside.empty_again(), Error);
  }
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(journal_), IsEmpty());
}

void set_aside_and_die(const fs::path& cache, const fs::path& journal, bool leave_something) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SetAsideFolder aside(cache, journal);
    if (leave_something) write_file_atomically(cache / "later", "later");
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(Layer, AKilledProgramsFolderIsRecovered) {
  set_aside_and_die(cache_, journal_, false);
  EXPECT_FALSE(fs::exists(cache_ / "deep/old"));
  EXPECT_THAT(recover_set_aside(journal_), ElementsAre(HasSubstr("restored ")));
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(cache_.parent_path()), ElementsAre("cache"));
  EXPECT_THAT(recover_set_aside(journal_), IsEmpty());
}

TEST_F(Layer, WhatCameMeanwhileIsKept) {
  set_aside_and_die(cache_, journal_, true);
  EXPECT_THAT(recover_set_aside(journal_), ElementsAre(HasSubstr(".cache.headroom-left")));
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_EQ(read_file(cache_.parent_path() / ".cache.headroom-left/later"), "later");
}

TEST_F(Layer, NoJournalIsNothingToRecover) {
  EXPECT_THAT(recover_set_aside(journal_), IsEmpty());
}

TEST_F(Layer, PagesOfAFileLeaveThePageCache) {
  constexpr long kTmpfsMagic = 0x01021994;
  struct statfs system {};
  ASSERT_EQ(::statfs(folder_.path().c_str(), &system), 0);
  const fs::path file = folder_.path() / "data";
  write_file_atomically(file, std::string(1 << 20, 'x'));
  const auto layer = open("pages:" + file.string());
  read_file(file);
  EXPECT_EQ(layer->content().bytes, 1U << 20);
  layer->clear();
  if (system.f_type == kTmpfsMagic) {
    EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("stayed in the page cache"));
    GTEST_SKIP() << "files in memory have no other place to be: nothing to drop";
  }
  EXPECT_EQ(layer->content().bytes, 0U);
  EXPECT_EQ(layer->warmth(layer->content()), "");
  read_file(file);
  EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("1048576 bytes"));
}

TEST_F(Layer, PagesOfAFolderAreThoseOfItsFiles) {
  write(cache_ / "a");
  EXPECT_EQ(resident_pages_of(cache_).files, 2U);
  EXPECT_THROW(open("pages:" + (cache_ / "none").string()), Error);
  EXPECT_GT(all_cached_bytes(), 0U);
}

TEST(LayerSpec, IsANameOrSaysItsKind) {
  EXPECT_EQ(parse_layer("inductor").variable, "TORCHINDUCTOR_CACHE_DIR");
  EXPECT_EQ(parse_layer("env:A_1").variable, "A_1");
  EXPECT_EQ(parse_layer("folder:/x").path, "/x");
  EXPECT_EQ(parse_layer("pages").path, "");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(parse_layer("folder:~/.cache/x").path, "/home/me/.cache/x");
  for (const char* text : {"", "env:", "env:1A", "env:A=B", "folder:", "pages:", "indcutor"}) {
    EXPECT_THROW(parse_layer(text), Error) << text;
  }
}

/// Costs 8 cold and 2 warm, after running `extra`.
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
      {"echo none > {output}; exit 0", "no match in its output file"},
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
    EXPECT_THAT(cache_view(toy, run).text(), HasSubstr("FAILED: bad: "));
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
  std::string text = cache_view(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("cold runs were cold: before each of the 4,"));
  EXPECT_THAT(text, HasSubstr("fresh folder in CCACHE_DIR"));
  EXPECT_THAT(text, HasSubstr("geometric mean"));
  EXPECT_THAT(text, HasSubstr("Student's t"));
  measured.run.models[1].pairs[0].layers[0].warmth = "it held 2 files";
  text = cache_view(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("NOT COLD: ccache before a cold run of b: it held 2 files"));
  EXPECT_THAT(text, Not(HasSubstr("cold runs were cold")));
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
  const std::string text = cache_view(measured.request, measured.run).text();
  EXPECT_THAT(text, HasSubstr("NOT COLD: a: the first cold run was 4 times as long as the 4 later ones"));
  EXPECT_THAT(text, Not(HasSubstr("cold runs were cold")));
  const std::vector<Record> records = cache_records(measured.request, measured.run, nullptr);
  EXPECT_THAT(sentences(records[0].notes), Contains(HasSubstr("a cache outside the layers")));
  EXPECT_THAT(records[1].notes, IsEmpty()) << "the warm one";
}

TEST(CacheReport, TheSpeedUpAndWhatIsSavedAreOneNumber) {
  Measured measured;
  // Slower in sum, but faster in four of five pairs.
  measured.run.models[0] = model_of({{2, 1}, {2, 1}, {2, 1}, {2, 1}, {10, 15.5}});
  measured.run.models[0].model = "a";
  for (CachePair& pair : measured.run.models[0].pairs) pair.layers = {{{0, 0}, {3, 100}, {4, 120}, ""}};
  EXPECT_LT(*cachebench_percent(measured.run.models[0]), 0);
  EXPECT_THAT(cache_view(measured.request, measured.run).text(), ContainsRegex("2.00x .* 50"));
  const std::vector<Record> records = cache_records(measured.request, measured.run, nullptr);
  EXPECT_EQ(records[2].metric.extra_info.at("saved_percent"), "50");
}

TEST(CacheReport, SaysWhichLayersWereNotUsed) {
  Measured measured;
  for (ModelRun& model : measured.run.models) {
    for (CachePair& pair : model.pairs) pair.layers = {LayerReading{}};
  }
  EXPECT_THAT(cache_view(measured.request, measured.run).text(),
              HasSubstr("unused: no command wrote to ccache"));
}

}  // namespace
}  // namespace headroom
