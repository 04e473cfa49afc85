// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "headroom/base/secrets.h"
#include "headroom/history/database.h"
#include "headroom/history/run_text.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "store_fixture.h"

namespace headroom::test {
namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Backends, StoreTest, testing::ValuesIn(backends()), backend_name);

std::vector<double> numbers(Store& store, std::int64_t series) {
  std::vector<double> found;
  for (const StoredValue& value : store.values(series)) found.push_back(value.value);
  return found;
}

std::int64_t series_named(Store& store, const std::string& start) {
  for (const StoredSeries& series : store.series()) {
    if (series.name.starts_with(start)) return series.id;
  }
  throw std::runtime_error("no series " + start);
}

TEST_P(StoreTest, RunsComeBackAsTheyWere) {
  auto environment = environment_at(1790000000, "machine-a", "c0ffee00c0ffee00");
  environment->git_branch = "main";
  environment->command = {"headroom", "run", "gemv"};
  environment->dependencies["torch"].version = "2.9";
  environment->extra_info["seed"] = "1";
  std::vector<Record> run{record_of("gemv", 12.5, environment),
                          record_of("layer_norm", 1.25e-7, environment)};
  run[0].metric.target = 11;
  run[0].notes = {"\xc2\xb5s, \"quoted\"", "a second note"};
  run[1].outcome = {Outcome::Kind::kFailed, "wrong answer"};
  run[1].metric.value = std::numeric_limits<double>::quiet_NaN();

  const std::int64_t id = open()->append(run);
  const auto store = open();
  EXPECT_EQ(to_json_text(store->records(id)), to_json_text(run));
  const auto runs = store->runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].id, id);
  EXPECT_EQ(runs[0].time, 1790000000u);
  EXPECT_EQ(runs[0].fingerprint, "machine-a");
  EXPECT_EQ(runs[0].git_sha, "c0ffee00c0ffee00");
  EXPECT_EQ(runs[0].git_branch, "main");
  EXPECT_EQ(runs[0].command, "headroom run gemv");
  EXPECT_EQ(runs[0].records, 2u);
  EXPECT_EQ(store->environment(id).dependencies.at("torch").version, "2.9");
}

TEST_P(StoreTest, ValuesComeInTheOrderOfTime) {
  const auto store = open();
  store->append(run_at(3000, 30));
  store->append(run_at(1000, 10));
  store->append(run_at(2000, 20));
  EXPECT_EQ(numbers(*store, series_named(*store, "experiment0")), (std::vector<double>{10, 20, 30}));
  const StoredValue last = store->values(series_named(*store, "experiment1")).back();
  EXPECT_EQ(last.value, 31);
  EXPECT_EQ(last.time, 3000u);
  EXPECT_EQ(last.run, 1);
  EXPECT_EQ(last.samples, 3u);
  EXPECT_EQ(last.headroom_version, "0.1.0");
  ASSERT_TRUE(last.interval);
  EXPECT_DOUBLE_EQ(last.interval->high, 31 * 1.01);
  EXPECT_DOUBLE_EQ(last.interval->confidence, 0.95);
}

TEST_P(StoreTest, MachinesUnitsAndCasesAreNeverPooled) {
  const auto store = open();
  Record other_unit = record_of("gemv", 4000, environment_at(3));
  other_unit.metric.unit = "ns";
  Record other_case = record_of("gemv", 5, environment_at(4));
  other_case.axes = {{"D", "128"}};
  store->append({record_of("gemv", 1, environment_at(1, "machine-a"))});
  store->append({record_of("gemv", 2, environment_at(2, "machine-b"))});
  store->append({other_unit});
  store->append({other_case});
  store->append({record_of("gemv", 3, environment_at(5, "machine-a"))});
  const auto all = store->series();
  ASSERT_EQ(all.size(), 4u);
  for (const StoredSeries& series : all) {
    const bool pooled =
        series.fingerprint == "machine-a" && series.unit == "us" && series.name.starts_with("gemv D=64");
    EXPECT_EQ(store->values(series.id).size(), pooled ? 2u : 1u) << series.name << series.unit;
  }
}

TEST_P(StoreTest, TwoRunnersThatMeasuredTheSameHaveASeriesEach) {
  const auto by = [](const std::string& runner, const std::string& experiment, double value,
                     const std::shared_ptr<Environment>& environment) {
    Record record = record_of(experiment, value, environment);
    record.runner = runner;
    return record;
  };
  const auto store = open();
  const auto alone = environment_at(1000), together = environment_at(2000), again = environment_at(3000);
  store->append({by("a", "gemv", 10, alone)});
  store->append({by("a", "gemv", 11, together), by("b", "gemv", 21, together), by("b", "norm", 5, together)});
  store->append({by("b", "gemv", 22, again), by("a", "gemv", 12, again)});
  store->append({by("moved/a", "gemv", 13, environment_at(4000))});
  EXPECT_EQ(store->series().size(), 4u);
  EXPECT_EQ(numbers(*store, series_named(*store, "gemv D=64 native cpu")), (std::vector<double>{10, 13}));
  EXPECT_EQ(numbers(*store, series_named(*store, "gemv D=64 native cpu runner=a")),
            (std::vector<double>{11, 12}));
  EXPECT_EQ(numbers(*store, series_named(*store, "gemv D=64 native cpu runner=b")),
            (std::vector<double>{21, 22}));
  EXPECT_EQ(numbers(*store, series_named(*store, "norm D=64 native cpu")), (std::vector<double>{5}));
}

TEST_P(StoreTest, WhatWasNotMeasuredIsInTheRunButNotInTheSeries) {
  const auto store = open();
  Record failed = record_of("gemv", 0, environment_at(1));
  failed.outcome = {Outcome::Kind::kFailed, "wrong answer"};
  Record not_a_number = record_of("gemv", std::nan(""), environment_at(2));
  const std::int64_t run = store->append({failed});
  store->append({not_a_number});
  store->append({record_of("gemv", 7, environment_at(3))});
  EXPECT_EQ(numbers(*store, 1), std::vector<double>{7});
  EXPECT_EQ(store->records(run).at(0).outcome.reason, "wrong answer");
}

TEST_P(StoreTest, NewestRunsOnly) {
  const auto store = open();
  for (const std::uint64_t time : {5, 9, 7}) store->append(run_at(time, 1));
  const auto runs = store->runs(2);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].time, 7u);
  EXPECT_EQ(runs[1].time, 9u);
}

TEST_P(StoreTest, RunsAreFoundByReference) {
  const auto store = open();
  EXPECT_THAT(message_of([&] { store->find_run("@last"); }), HasSubstr("holds no run yet"));
  const auto first = store->append({record_of("gemv", 1, environment_at(1, "m", "abcd1111"))});
  const auto second = store->append({record_of("gemv", 1, environment_at(3, "m", "abcd2222"))});
  const auto third = store->append({record_of("gemv", 1, environment_at(2, "m", "abcd1111"))});
  EXPECT_EQ(store->find_run("@last"), second);
  EXPECT_EQ(store->find_run("@" + std::to_string(first)), first);
  EXPECT_EQ(store->find_run("@git:abcd1"), third);
  EXPECT_THAT(message_of([&] { store->find_run("@git:abcd"); }), HasSubstr("matches 2 revisions"));
  EXPECT_THAT(message_of([&] { store->find_run("@git:ab"); }), HasSubstr("too short"));
  EXPECT_THAT(message_of([&] { store->find_run("@git:ffff0"); }),
              HasSubstr("no run of the git revision 'ffff0'"));
  EXPECT_THAT(message_of([&] { store->find_run("@git:%%%%"); }), HasSubstr("no run of the git revision"));
  EXPECT_THAT(message_of([&] { store->find_run("@99"); }), HasSubstr("holds no run 99"));
  for (const char* wrong : {"last", "@", "@1x", "12", "@Last"}) {
    EXPECT_THAT(message_of([&] { store->find_run(wrong); }), HasSubstr("is not a run")) << wrong;
  }
  EXPECT_THAT(message_of([&] { store->records(99); }), HasSubstr("no run 99"));
}

TEST_P(StoreTest, EqualRunsAreAddedOnce) {
  const auto store = open();
  const auto run = run_at(1, 10);
  EXPECT_TRUE(store->append_if_new(run));
  EXPECT_FALSE(store->append_if_new(run));
  EXPECT_TRUE(store->append_if_new(run_at(1, 11)));
  EXPECT_FALSE(store->append_if_new(store->records(1)));
  EXPECT_EQ(store->runs().size(), 2u);
}

TEST_P(StoreTest, OddTextIsKept) {
  const std::string odd("a\0b'\";--\xff", 9);
  auto environment = environment_at(1, odd, odd);
  const auto store = open();
  const std::int64_t run = store->append({record_of(odd, 1, environment)});
  store->append({record_of(odd, 2, environment_at(2, odd))});
  ASSERT_EQ(store->series().size(), 1u);
  EXPECT_EQ(numbers(*store, 1), (std::vector<double>{1, 2}));
  EXPECT_THAT(store->records(run).at(0).model.name, testing::StartsWith(std::string("a\0b'\";--", 8)));
}

TEST_P(StoreTest, RunsNeedRecordsOfOneEnvironment) {
  const auto store = open();
  EXPECT_THROW(store->append({}), std::invalid_argument);
  EXPECT_THROW(store->append({record_of("a", 1, environment_at(1)), record_of("b", 1, environment_at(1))}),
               std::invalid_argument);
  EXPECT_TRUE(store->runs().empty());
}

TEST_P(StoreTest, PruneByCount) {
  const auto store = open();
  for (std::uint64_t time = 1; time <= 6; ++time) store->append(run_at(time, static_cast<double>(time), 2));
  store->append({record_of("rare", 1, environment_at(0))});
  PruneRule rule;
  rule.keep_last = 2;
  const PruneResult result = store->prune(rule);
  EXPECT_EQ(result.records, 8u);
  EXPECT_EQ(result.runs, 4u);
  EXPECT_EQ(numbers(*store, series_named(*store, "experiment0")), (std::vector<double>{5, 6}));
  EXPECT_EQ(numbers(*store, series_named(*store, "rare")), (std::vector<double>{1}));
  EXPECT_EQ(store->runs().size(), 3u);
  EXPECT_EQ(store->prune(rule).records, 0u);
}

TEST_P(StoreTest, PruneByAge) {
  const auto store = open();
  store->append(run_at(100, 1));
  store->append({record_of("gone", 1, environment_at(150))});
  store->append(run_at(200, 2));
  PruneRule rule;
  rule.older_than = 200;
  EXPECT_EQ(store->prune(rule).runs, 2u);
  EXPECT_EQ(store->series().size(), 3u) << "a series without a value goes too";
  const std::int64_t next = store->append(run_at(300, 3));
  EXPECT_EQ(next, 4) << "numbers of runs that are gone are not given again";
}

TEST_P(StoreTest, ShortenedRunsStayEqualToTheirExport) {
  const auto store = open();
  store->append(run_at(1, 1, 3));
  store->append(run_at(2, 2, 1));
  PruneRule rule;
  rule.keep_last = 1;
  store->prune(rule);
  EXPECT_EQ(store->runs().at(0).records, 2u);
  EXPECT_FALSE(store->append_if_new(records_from_json_text(to_json_text(store->records(1)), "export")));
}

TEST_P(StoreTest, ReadingMakesNothing) {
  const std::string message = message_of([&] { open(StoreAccess::kRead); });
  EXPECT_THAT(message, HasSubstr("there is no history"));
  EXPECT_THAT(message, HasSubstr("headroom run"));
  EXPECT_FALSE(std::filesystem::exists(place_.folder() / "deep"));
  open()->append(run_at(1, 1));
  EXPECT_EQ(open(StoreAccess::kRead)->runs().size(), 1u);
  EXPECT_ANY_THROW(open_store(place_.url() + "x", StoreAccess::kRead));
}

TEST_P(StoreTest, AViewOfAStrangerIsRefusedByName) {
  open()->append(run_at(1, 1));
  const auto database = place_.database();
  database->execute("CREATE VIEW more AS SELECT 1 AS one");
  EXPECT_THAT(message_of([&] { open(StoreAccess::kRead); }),
              AllOf(HasSubstr("is not a valid history"), HasSubstr("more")));
  database->execute("DROP VIEW more");
  EXPECT_EQ(open(StoreAccess::kRead)->runs().size(), 1u);
}

TEST_P(StoreTest, NewerStoresAreRefusedAndLeftAlone) {
  open()->append(run_at(1, 1));
  const auto database = place_.database();
  database->execute("UPDATE headroom_store SET schema_version = 99");
  const std::string message = message_of([&] { open(); });
  EXPECT_THAT(message, HasSubstr("schema 99"));
  EXPECT_THAT(message, HasSubstr("newer headroom"));
  std::int64_t version = 0;
  database->execute("SELECT schema_version FROM headroom_store", {},
                    [&version](const SqlRow& row) { version = std::get<std::int64_t>(row[0]); });
  EXPECT_EQ(version, 99);
  database->execute("UPDATE headroom_store SET schema_version = 1");
}

TEST_P(StoreTest, RunsThatWaitedAreDeliveredOnceAndTheirFilesRemoved) {
  ::setenv("XDG_DATA_HOME", place_.folder().path().c_str(), 1);
  const auto store = open();
  EXPECT_THAT(deliver_outbox(*store), testing::IsEmpty()) << "none waits";
  const std::string first = put_into_outbox(run_at(1000, 10), place_.url());
  EXPECT_EQ(put_into_outbox(run_at(1000, 10), place_.url()), first) << "the same run";
  using Perms = std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(first).permissions() & (Perms::group_all | Perms::others_all),
            Perms::none);
  const std::string second = put_into_outbox(run_at(2000, 20), place_.url());
  const std::string broken = first + ".json";
  std::ofstream(broken) << "no run";
  EXPECT_THAT(deliver_outbox(*store), testing::ElementsAre(HasSubstr(broken)));
  EXPECT_EQ(numbers(*store, series_named(*store, "experiment0")), (std::vector<double>{10, 20}));
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(second));
  EXPECT_TRUE(std::filesystem::exists(broken)) << "nothing is lost";
}

TEST(StoreLocation, NamesThatMeanNothingAreRefused) {
  EXPECT_THAT(message_of([] { open_store("mysql://host/x"); }), HasSubstr("unknown kind of history 'mysql'"));
  EXPECT_THAT(message_of([] { open_store(""); }), HasSubstr("empty name"));
  EXPECT_THAT(message_of([] { open_store("sqlite:"); }), HasSubstr("empty name"));
}

TEST(StoreLocation, DefaultComesFromTheEnvironment) {
  ::setenv("HEADROOM_STORE", "postgresql://team/benchmarks", 1);
  EXPECT_EQ(default_store(), "postgresql://team/benchmarks");
  ::setenv("HEADROOM_STORE", "", 1);
  ::setenv("XDG_DATA_HOME", "/somewhere", 1);
  EXPECT_EQ(default_store(), "/somewhere/headroom/history.sqlite");
  ::unsetenv("HEADROOM_STORE");
}

TEST(StoreLocation, PatienceWithAServerComesFromTheEnvironment) {
  const auto refusal = [](const char* patience) {
    ::setenv("HEADROOM_STORE_TIMEOUT", patience, 1);
    const std::string message = message_of([] { open_store("postgresql://127.0.0.1:1/db"); });
    ::unsetenv("HEADROOM_STORE_TIMEOUT");
    return message;
  };
  if (const std::string message = refusal("1s"); !message.starts_with("cannot open the history"))
    GTEST_SKIP() << message;
  EXPECT_THAT(refusal("soon"), HasSubstr("soon"));
  EXPECT_THAT(refusal(""), HasSubstr("cannot open the history")) << "as without it";
}

TEST(StoreLocation, PasswordsAreNotShown) {
  EXPECT_EQ(redact_secrets("postgresql://me:secret@host:5432/db"), "postgresql://me:***@host:5432/db");
  EXPECT_EQ(redact_secrets("postgresql://me@host:5432/db"), "postgresql://me@host:5432/db");
  EXPECT_EQ(redact_secrets("postgresql://host/db?user=me&password=secret&x=1"),
            "postgresql://host/db?user=me&password=***&x=1");
  EXPECT_EQ(redact_secrets("postgresql://me:p@ss:w@host/db"), "postgresql://me:***@host/db");
  const std::string message = message_of([] { open_store("postgresql://me:secret@127.0.0.1:1/db"); });
  EXPECT_THAT(message, HasSubstr("cannot open the history 'postgresql://me:***@127.0.0.1:1/db'"));
  EXPECT_THAT(message, testing::Not(HasSubstr("secret")));
}

TEST(PackedText, ComesBackAsItWas) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(100000, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(unpack_text(pack_text(text), "test"), text);
  }
  EXPECT_LT(pack_text(std::string(100000, 'a')).size(), 100u);
}

TEST(PackedText, DamageIsTold) {
  const std::string packed = pack_text("{\"value\": 1}");
  for (const std::string& damaged :
       {std::string(), std::string("not compressed"), packed.substr(0, packed.size() - 1)}) {
    EXPECT_THAT(test::message_of([&] { unpack_text(damaged, "run 7"); }),
                testing::StartsWith("run 7: damaged"));
  }
}

TEST(PackedText, DigestIsFnv1a128) {
  // Test vectors of draft-eastlake-fnv.
  EXPECT_EQ(digest_of(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(digest_of("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(digest_of("foobar"), "343e1662793c64bf6f0d3597ba446f18");
}

}  // namespace
}  // namespace headroom::test
