// SPDX-License-Identifier: Apache-2.0
// HEADROOM_STORE_RUNS, HEADROOM_STORE_KILLS: repetitions.

#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/history/run_text.h"
#include "headroom/record/record_json.h"
#include "store_fixture.h"

namespace headroom::test {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::string exported(Store& store) {
  std::string all;
  for (const StoredRun& run : store.runs()) {
    for (const Record& record : store.records(run.id))
      all += dump_json(record_json::write_record(record)) + "\n";
  }
  return all;
}

void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

class DamagedHistory : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = open_store(path);
    for (std::uint64_t run = 1; run <= 3; ++run) store->append(run_at(run * 100, static_cast<double>(run)));
  }
  /// Binds `bytes`; returns the first column of the row.
  std::string change(const std::string& sql, const std::string& bytes = "") const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    sqlite3_bind_blob(statement, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    std::string found;
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
      found.assign(static_cast<const char*>(sqlite3_column_blob(statement, 0)),
                   static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
      step = sqlite3_step(statement);
    }
    EXPECT_EQ(step, SQLITE_DONE) << sql;
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return found;
  }
  std::string content_of(int run, int position) const {
    return change("SELECT content FROM records WHERE run = " + std::to_string(run) +
                  " AND position = " + std::to_string(position));
  }

  TemporaryFolder folder;
  std::string path = folder / "history.sqlite";
};

TEST_F(DamagedHistory, OneThatIsWellHasNothingToTell) {
  EXPECT_THAT(open_store(path)->verify(), IsEmpty());
  const RepairResult result = open_store(path)->repair();
  EXPECT_EQ(result.runs_removed + result.records_removed + result.records_mended, 0U);
  EXPECT_THAT(open_store(path)->runs(), SizeIs(3));
}

TEST_F(DamagedHistory, NoFlippedBitOfARecordIsBelieved) {
  const std::string before = exported(*open_store(path)), whole = content_of(2, 1);
  std::mt19937_64 random(1);
  for (int flip = 0; flip < 300; ++flip) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    change("UPDATE records SET content = ?1 WHERE run = 2 AND position = 1", bytes);
    try {
      EXPECT_EQ(exported(*open_store(path)), before) << "flip " << flip;
    } catch (const Error&) {
      EXPECT_THAT(open_store(path)->verify(), SizeIs(1));
    }
  }
}

TEST_F(DamagedHistory, ARecordOfAnotherRunInTheSamePlaceIsNoticed) {
  change("UPDATE records SET content = ?1 WHERE run = 2 AND position = 1", content_of(3, 1));
  EXPECT_THAT(message_of([&] { open_store(path)->records(2); }),
              HasSubstr("run 2: damaged: it does not match its checksum"));
}

TEST_F(DamagedHistory, AnotherTypeInAColumnIsASentence) {
  change("UPDATE runs SET fingerprint = ?1 WHERE id = 2", "bytes");
  EXPECT_THAT(
      message_of([&] { open_store(path)->runs(); }),
      AllOf(HasSubstr("damaged: a row does not match its checksum"), HasSubstr("headroom history verify")));
}

TEST_F(DamagedHistory, VerifyTellsOfEachDamageAndRepairLeavesTheRest) {
  change("UPDATE records SET content = ?1 WHERE run = 1 AND position = 0", "no frame");
  change("UPDATE environments SET content = ?1 WHERE run = 2", "no frame");
  change("UPDATE records SET value = 7.5 WHERE run = 3 AND position = 2");
  const std::vector<StoreDamage> damages = open_store(path)->verify();
  ASSERT_THAT(damages, SizeIs(3));
  EXPECT_THAT(damages[0].what, HasSubstr("run 1: record 0: damaged"));
  EXPECT_THAT(damages[1].what, HasSubstr("run 2: environment: damaged"));
  EXPECT_THAT(damages[2].what, HasSubstr("run 3: record 2: the series shows a different value"));
  const RepairResult result = open_store(path)->repair();
  EXPECT_EQ(result.runs_removed, 1U);
  EXPECT_EQ(result.records_removed, 4U) << "one of run 1, three of run 2";
  EXPECT_EQ(result.records_mended, 1U);
  EXPECT_THAT(open_store(path)->verify(), IsEmpty());
  EXPECT_THAT(open_store(path)->records(1), SizeIs(2));
  EXPECT_THAT(open_store(path)->records(3), SizeIs(3));
  EXPECT_THAT(open_store(result.copy)->verify(), SizeIs(3)) << "the copy is as it was before";
}

TEST_F(DamagedHistory, ANumberBeyondTheBoundsCostsItsRecordAndNothingElse) {
  for (const double beyond : {1.7e308, -1.01e100, 1e-310}) {
    std::vector<Record> run = run_at(400, 4);
    run[1].metric.value = run[1].samples[0].values[2] = beyond;
    const std::int64_t id = open_store(path)->append(run);
    const auto store = open_store(path);
    for (const StoredSeries& one : store->series())
      EXPECT_THAT(store->values(one.id), SizeIs(one.name.starts_with("experiment1") ? 3 : 4)) << beyond;
    for (const SeriesDigest& mark : store->series_digests()) EXPECT_LE(mark.most, 6);
    const std::vector<Record> records = store->records(id);
    EXPECT_EQ(records[0].metric.value, 4);
    EXPECT_EQ(records[1].outcome.kind, Outcome::Kind::kFailed);
    EXPECT_THAT(records[1].outcome.reason, HasSubstr("record 1/metric/value: "));
    EXPECT_THAT(records[1].samples, IsEmpty());
    const std::vector<StoreDamage> damages = store->verify();
    ASSERT_THAT(damages, SizeIs(1)) << beyond;
    EXPECT_THAT(damages[0].what, HasSubstr("record 1: "));
    EXPECT_THAT(damages[0].what, HasSubstr("is no measurement"));
    EXPECT_EQ(store->repair().records_mended, 1U);
    EXPECT_THAT(store->verify(), IsEmpty());
    fs::remove(path);
    SetUp();
  }
}

TEST_F(DamagedHistory, NumbersAtTheBoundsAreKept) {
  for (const double at : {1e100, -1e100, 1e-100, 0.0}) {
    std::vector<Record> run = run_at(400, 4);
    run[1].metric.value = at;
    run[1].samples[0].values = {at, at, at};
    run[1].interval.reset();
    const auto store = open_store(path);
    const std::int64_t id = store->append(run);
    EXPECT_EQ(store->records(id)[1].metric.value, at);
    EXPECT_THAT(store->values(2), SizeIs(4)) << at;
    EXPECT_THAT(store->verify(), IsEmpty()) << at;
    fs::remove(path);
    SetUp();
  }
}

TEST_F(DamagedHistory, AMissingRecordIsNoticedAndTheOthersKept) {
  change("DELETE FROM records WHERE run = 2 AND position = 0");
  EXPECT_THAT(open_store(path)->verify(), SizeIs(1));
  open_store(path)->repair();
  EXPECT_THAT(open_store(path)->verify(), IsEmpty());
  EXPECT_THAT(open_store(path)->records(2), SizeIs(2));
}

TEST_F(DamagedHistory, NoChangedColumnIsBelieved) {
  const std::string whole = read_file(path);
  const std::string series = "UPDATE series SET ", runs = "UPDATE runs SET ", records = "UPDATE records SET ";
  for (const std::string& change_of : {series + "lower_is_better = 0 WHERE id = 1",
                                       series + "name = 'other' WHERE id = 1",
                                       series + "fingerprint = ?1 WHERE id = 2",
                                       series + "identity = 'x' WHERE id = 3",
                                       series + "unit = 'ms' WHERE id = 2",
                                       series + "id = 9 WHERE id = 3",
                                       runs + "time = 1e300 WHERE id = 2",
                                       runs + "time = 250 WHERE id = 1",
                                       runs + "git_sha = 'c0ffee' WHERE id = 2",
                                       runs + "fingerprint = ?1 WHERE id = 3",
                                       runs + "records = 'x' WHERE id = 1",
                                       runs + "digest = '' WHERE id = 2",
                                       runs + "id = 8 WHERE id = 2",
                                       records + "value = 7.5 WHERE run = 2",
                                       records + "value = NULL WHERE run = 2 AND position = 0",
                                       records + "value = 'x' WHERE run = 2",
                                       records + "low = 0.5 WHERE run = 1",
                                       records + "confidence = 0.5 WHERE run = 1",
                                       records + "samples = ?1 WHERE run = 3",
                                       records + "time = 1e300 WHERE run = 3",
                                       records + "series = 2 WHERE run = 3 AND position = 0",
                                       records + "series = 77 WHERE run = 3",
                                       records + "position = 'x' WHERE run = 1 AND position = 1",
                                       records + "row_check = 0 WHERE run = 1"}) {
    write_file_atomically(path, whole);
    change(change_of, "bytes");
    EXPECT_THAT(open_store(path)->verify(), Not(IsEmpty())) << change_of;
    const auto read_all = [&] {
      const auto store = open_store(path, StoreAccess::kRead);
      for (const StoredSeries& one : store->series()) store->values(one.id);
      for (const StoredRun& run : store->runs()) store->records(run.id);
    };
    // Only verify detects a moved run or series.
    if (change_of.find("series = 77") == std::string::npos) {
      EXPECT_THAT(message_of(read_all), HasSubstr("headroom history")) << change_of;
    }
    open_store(path)->repair();
    EXPECT_THAT(open_store(path)->verify(), IsEmpty()) << change_of;
    EXPECT_EQ(message_of(read_all), "nothing was thrown") << change_of;
    if (change_of.find("id = 8") != std::string::npos ||
        change_of.find("'x' WHERE run = 1") != std::string::npos)
      continue;
    const auto store = open_store(path, StoreAccess::kRead);
    std::vector<double> values;
    ASSERT_THAT(store->series(), SizeIs(3)) << change_of;
    for (const StoredSeries& one : store->series()) {
      EXPECT_EQ(one.direction, Direction::kLowerIsBetter) << change_of;
      for (const StoredValue& value : store->values(one.id)) values.push_back(value.value);
    }
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 2, 3, 4, 3, 4, 5)) << change_of;
  }
}

/// Converts the tables to schema 1.
void make_schema_1(const fs::path& path) {
  run_sql(path,
          "DROP INDEX records_of_series; ALTER TABLE records DROP COLUMN row_check;"
          "ALTER TABLE runs DROP COLUMN row_check; ALTER TABLE series DROP COLUMN row_check;"
          "CREATE INDEX records_of_series ON records "
          "(series, time, run, position, value, low, high, confidence, samples);"
          "UPDATE headroom_store SET schema_version = 1; PRAGMA user_version = 1");
}

TEST_F(DamagedHistory, AnOlderSchemaIsReadAsItIsAndGetsItsChecksWhenItIsWritten) {
  make_schema_1(path);
  const std::string before = exported(*open_store(path, StoreAccess::kRead));
  EXPECT_THAT(open_store(path, StoreAccess::kRead)->verify(), IsEmpty());
  EXPECT_THAT(open_store(path, StoreAccess::kRead)->values(1), SizeIs(3));
  open_store(path)->append(run_at(400, 4));
  EXPECT_TRUE(exported(*open_store(path, StoreAccess::kRead)).starts_with(before));
  EXPECT_THAT(open_store(path, StoreAccess::kRead)->verify(), IsEmpty());
  change("UPDATE series SET lower_is_better = 0");
  EXPECT_THAT(message_of([&] { open_store(path, StoreAccess::kRead)->series(); }), HasSubstr("damaged"));
}

TEST_F(DamagedHistory, WhatAnOlderSchemaShowsIsComparedWithItsRuns) {
  for (const char* change_of :
       {"UPDATE series SET lower_is_better = 0", "UPDATE runs SET time = 7 WHERE id = 2",
        "UPDATE records SET low = 0.25 WHERE run = 2"}) {
    fs::remove(path);
    SetUp();
    make_schema_1(path);
    change(change_of);
    EXPECT_THAT(open_store(path, StoreAccess::kRead)->verify(), Not(IsEmpty())) << change_of;
    open_store(path)->repair();
    EXPECT_THAT(open_store(path)->verify(), IsEmpty()) << change_of;
    EXPECT_EQ(open_store(path)->series().front().direction, Direction::kLowerIsBetter);
  }
}

TEST_F(DamagedHistory, WhatAStrangerAddedToTheSchemaIsRefusedAndDoesNotRun) {
  const std::string whole = read_file(path);
  for (const auto& [sql, named] : std::vector<std::pair<std::string, std::string>>{
           {"CREATE TRIGGER forget AFTER INSERT ON runs BEGIN DELETE FROM runs WHERE id < 3; END",
            "trigger 'forget'"},
           {"CREATE VIEW more AS SELECT 1", "view 'more'"},
           {"CREATE TABLE other (a)", "table 'other'"},
           {"CREATE INDEX other ON runs (abs(time))", "index 'other'"},
           {"CREATE VIRTUAL TABLE other USING fts5(a)", "other"},
           {"DROP INDEX runs_by_time", "lacks the index runs_by_time"},
           {"ALTER TABLE runs ADD COLUMN more AS (time + 1)", "table 'runs' is defined differently"}}) {
    write_file_atomically(path, whole);
    change(sql);
    for (const StoreAccess access : {StoreAccess::kRead, StoreAccess::kReadWrite}) {
      const std::string message = message_of([&, access = access] { open_store(path, access); });
      EXPECT_THAT(message, AllOf(HasSubstr("is not a valid history"), HasSubstr(named))) << sql;
    }
  }
  write_file_atomically(path, whole);
  change("DROP TABLE environments");
  change("ALTER TABLE series RENAME TO hidden");
  change(
      "CREATE VIEW series AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS id FROM "
      "n");
  EXPECT_THAT(message_of([&] { open_store(path, StoreAccess::kRead); }), HasSubstr("is not a valid history"));
}

TEST_F(DamagedHistory, TheFileAndItsCopyAreTheUsersOwn) {
  for (const std::string& file : {path, open_store(path)->repair().copy}) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << file;
  }
}

class StoreCrashTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreCrashTest, testing::ValuesIn(backends()), backend_name);

int from_environment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

/// Exits without the test framework; 1: `body` threw.
template <typename Body>
pid_t child_process(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child process: %s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

void expect_success(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

void expect_whole_runs(Store& store, std::size_t records) {
  for (const StoredRun& run : store.runs()) {
    EXPECT_EQ(run.records, records);
    EXPECT_EQ(store.records(run.id).size(), records) << "run " << run.id;
  }
}

void expect_sound_file(const StorePlace& place) {
  if (place.backend() != Backend::kSqlite) return;
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(place.url().c_str(), &database), SQLITE_OK);
  for (const char* check : {"PRAGMA integrity_check", "PRAGMA foreign_key_check"}) {
    sqlite3_exec(
        database, check,
        [](void*, int columns, char** values, char**) {
          EXPECT_TRUE(columns == 1 && std::string(values[0]) == "ok") << values[0];
          return 0;
        },
        nullptr, nullptr);
  }
  sqlite3_close(database);
}

TEST_P(StoreCrashTest, ProcessesThatWriteAtOnceLoseNothing) {
  constexpr int kProcesses = 8;
  const int runs = from_environment("HEADROOM_STORE_RUNS", 20);
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(child_process([&, process] {
      const auto store = open();
      for (int run = 0; run < runs; ++run) {
        const auto time = static_cast<std::uint64_t>(1 + run * kProcesses + process);
        store->append(run_at(time, static_cast<double>(time), 4));
      }
    }));
  }
  for (const pid_t child : children) expect_success(child);
  const auto store = open();
  const auto all = store->runs();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kProcesses * runs));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].time, i + 1);
  const auto series = store->series();
  ASSERT_EQ(series.size(), 4u);
  for (const StoredSeries& one : series) EXPECT_EQ(store->values(one.id).size(), all.size());
  expect_whole_runs(*store, 4);
  expect_sound_file(place_);
}

TEST_P(StoreCrashTest, KilledWritersLeaveWholeRuns) {
  const int kills = from_environment("HEADROOM_STORE_KILLS", 10);
  constexpr std::size_t kRecords = 40;
  std::mt19937 engine(7);
  std::set<std::int64_t> acknowledged;
  for (int kill = 0; kill < kills; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = child_process([&, kill] {
      const auto store = open();
      for (std::uint64_t time = 1;; ++time) {
        const std::int64_t id =
            store->append(run_at(static_cast<std::uint64_t>(kill) * 100000 + time, 1, kRecords));
        if (::write(pipe[1], &id, sizeof id) != sizeof id) return;
      }
    });
    ::close(pipe[1]);
    ::usleep(std::uniform_int_distribution<useconds_t>(500, 60000)(engine));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::int64_t id = 0;
    while (::read(pipe[0], &id, sizeof id) == sizeof id) acknowledged.insert(id);
    ::close(pipe[0]);
    const auto store = open();
    std::set<std::int64_t> stored;
    for (const StoredRun& run : store->runs()) stored.insert(run.id);
    EXPECT_TRUE(std::includes(stored.begin(), stored.end(), acknowledged.begin(), acknowledged.end()));
  }
  expect_whole_runs(*open(), kRecords);
  expect_sound_file(place_);
}

TEST(SqliteCreation, KilledWhileMakingTheFile) {
  const TemporaryFolder folder;
  std::mt19937 engine(8);
  const int kills = from_environment("HEADROOM_STORE_KILLS", 10);
  for (int kill = 0; kill < kills; ++kill) {
    const std::string place = folder / ("h" + std::to_string(kill));
    const pid_t child = child_process([&] { open_store(place); });
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 15000)(engine));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string reading = message_of([&] { open_store(place, StoreAccess::kRead); });
    EXPECT_TRUE(reading == "nothing was thrown" || reading.starts_with("there is no history")) << reading;
    const auto store = open_store(place);
    store->append(run_at(1, 1));
    EXPECT_EQ(store->runs().size(), 1u);
  }
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class SqliteFile : public testing::Test {
 protected:
  void append(std::uint64_t time = 1) const { open_store(place)->append(run_at(time, 1)); }
  std::size_t runs() const { return open_store(place, StoreAccess::kRead)->runs().size(); }
  void expect_refused(const std::string& why) const {
    const std::string before = read_file(place);
    const std::size_t files = files_in(folder.path());
    for (const StoreAccess access : {StoreAccess::kRead, StoreAccess::kReadWrite})
      EXPECT_THAT(message_of([&, access = access] { open_store(place, access); }),
                  AllOf(HasSubstr(why), HasSubstr(place)));
    EXPECT_EQ(read_file(place), before);
    EXPECT_EQ(files_in(folder.path()), files);
  }

  const TemporaryFolder folder;
  std::string place = folder / "h";
};

TEST_F(SqliteFile, FilesOfOthersAreRefused) {
  for (const std::string& content :
       {std::string("x"), std::string("{\"a\": 1}\n"), std::string(5000, '\0')}) {
    write_file_atomically(place, content);
    expect_refused("not a headroom history: the file is not an SQLite database");
  }
  fs::remove(place);
  run_sql(place, "CREATE TABLE runs (id INTEGER); INSERT INTO runs VALUES (1)");
  expect_refused("SQLite database of another program");
}

TEST_F(SqliteFile, NewerHistoriesAreRefused) {
  append();
  run_sql(
      place,
      "UPDATE headroom_store SET schema_version = 3; PRAGMA user_version = 3; PRAGMA journal_mode = DELETE");
  expect_refused("schema 3, written by a newer headroom");
}

TEST_F(SqliteFile, NewerSchemaInTheTableAloneIsRefused) {
  append();
  run_sql(place, "UPDATE headroom_store SET schema_version = 7");
  EXPECT_THAT(message_of([&] { open_store(place); }), HasSubstr("schema 7"));
}

TEST_F(SqliteFile, FoldersAndDevicesAreRefused) {
  EXPECT_THAT(message_of([&] { open_store(folder.path().string()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([] { open_store("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([] { open_store("/dev/null/h"); }), HasSubstr("cannot open the history"));
}

TEST_F(SqliteFile, EmptyFileBecomesAHistory) {
  std::ofstream(place).close();
  append();
  EXPECT_EQ(open_store("sqlite:" + place, StoreAccess::kRead)->runs().size(), 1u);
}

TEST_F(SqliteFile, NamesWithOddCharacters) {
  place = folder / "a b?mode=ro#%41&.db";
  append();
  EXPECT_TRUE(fs::exists(place));
  EXPECT_EQ(runs(), 1u);
}

TEST_F(SqliteFile, DamagedRecordIsTold) {
  append();
  run_sql(place, "UPDATE records SET content = x'00'");
  EXPECT_THAT(message_of([&] { open_store(place)->records(1); }), HasSubstr("run 1: damaged"));
}

TEST_F(SqliteFile, ReadOnlyFileInAReadOnlyFolderCanBeRead) {
  append();
  fs::permissions(place, fs::perms{0444});
  fs::permissions(folder.path(), fs::perms{0555});
  expect_success(child_process([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 &&
        (::chown(folder.path().c_str(), 0, 0) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0))
      throw Error("no other user");
    if (runs() != 1) throw Error("the run cannot be read");
    const std::string message = message_of([&] { append(2); });
    if (message.find("readonly") == std::string::npos || message.find("--store") == std::string::npos)
      throw Error(message);
  }));
  fs::permissions(folder.path(), fs::perms{0755});
  EXPECT_EQ(runs(), 1u);
}

TEST_F(SqliteFile, AReaderThatCannotUseTheLogDoesNotLeaveItOut) {
  const std::string copy = folder / "copy";
  append();
  {
    const auto writer = open_store(place);
    writer->append(run_at(2, 2));
    fs::copy_file(place, copy);
    fs::copy_file(place + "-wal", copy + "-wal");
  }
  fs::rename(copy + "-wal", copy + "-kept");
  fs::create_directory(copy + "-wal");
  EXPECT_NE(message_of([&] { open_store(copy, StoreAccess::kRead)->runs(); }), "nothing was thrown");
  fs::remove(copy + "-wal");
  fs::rename(copy + "-kept", copy + "-wal");
  EXPECT_EQ(open_store(copy, StoreAccess::kRead)->runs().size(), 2u);
}

TEST_F(SqliteFile, FullDiskLosesTheRunAndNothingElse) {
  append();
  expect_success(child_process([&] {
    // Simulates a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200000, 200000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto store = open_store(place);
    const std::string message = message_of([&] { store->append(run_at(2, 2, 2000)); });
    if (message.find("disk full") == std::string::npos || store->runs().size() != 1) throw Error(message);
    store->append(run_at(3, 3));
  }));
  const auto store = open_store(place);
  EXPECT_EQ(store->runs().size(), 2u);
  EXPECT_EQ(store->records(store->find_run("@last")).size(), 3u);
}

}  // namespace
}  // namespace headroom::test
