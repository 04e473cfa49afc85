// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <random>

#include "headroom/base/json.h"
#include "headroom/history/packed_text.h"
#include "headroom/record/record_json.h"
#include "store_fixture.h"

namespace headroom::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string exported(Store& store) {
  std::string all;
  for (const StoredRun& run : store.runs()) {
    for (const Record& record : store.records(run.id))
      all += dump_json(record_json::write_record(record)) + "\n";
  }
  return all;
}

/// A history in a file, changed behind its back.
class DamagedHistory : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = open_store(path);
    for (std::uint64_t run = 1; run <= 3; ++run) store->append(run_at(run * 100, static_cast<double>(run)));
  }
  void change(const std::string& sql, const std::string& bytes = "") const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    sqlite3_bind_blob(statement, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE) << sql;
    sqlite3_finalize(statement);
    sqlite3_close(database);
  }
  std::string content_of(int run, int position) const {
    sqlite3* database = nullptr;
    sqlite3_open(path.c_str(), &database);
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(database, "SELECT content FROM records WHERE run = ?1 AND position = ?2", -1,
                       &statement, nullptr);
    sqlite3_bind_int(statement, 1, run);
    sqlite3_bind_int(statement, 2, position);
    sqlite3_step(statement);
    const std::string bytes(static_cast<const char*>(sqlite3_column_blob(statement, 0)),
                            static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return bytes;
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
              HasSubstr("run 2: damaged: it is not what was stored"));
}

TEST_F(DamagedHistory, AnotherTypeInAColumnIsASentence) {
  change("UPDATE runs SET fingerprint = ?1 WHERE id = 2", "bytes");
  EXPECT_THAT(message_of([&] { open_store(path)->runs(); }),
              AllOf(HasSubstr("damaged: a row holds something else"), HasSubstr("headroom history verify")));
}

TEST_F(DamagedHistory, VerifyTellsOfEachDamageAndRepairLeavesTheRest) {
  change("UPDATE records SET content = ?1 WHERE run = 1 AND position = 0", "no frame");
  change("UPDATE environments SET content = ?1 WHERE run = 2", "no frame");
  change("UPDATE records SET value = 7.5 WHERE run = 3 AND position = 2");
  const std::vector<StoreDamage> damages = open_store(path)->verify();
  ASSERT_THAT(damages, SizeIs(3));
  EXPECT_THAT(damages[0].what, HasSubstr("run 1: record 0: damaged"));
  EXPECT_THAT(damages[1].what, HasSubstr("run 2: environment: damaged"));
  EXPECT_THAT(damages[2].what, HasSubstr("run 3: record 2: the series shows another value"));
  const RepairResult result = open_store(path)->repair();
  EXPECT_EQ(result.runs_removed, 1U);
  EXPECT_EQ(result.records_removed, 4U) << "one of run 1, three of run 2";
  EXPECT_EQ(result.records_mended, 1U);
  EXPECT_THAT(open_store(path)->verify(), IsEmpty());
  EXPECT_THAT(open_store(path)->records(1), SizeIs(2));
  EXPECT_THAT(open_store(path)->records(3), SizeIs(3));
  EXPECT_THAT(open_store(result.copy)->verify(), SizeIs(3)) << "the copy is as it was before";
}

TEST_F(DamagedHistory, AMissingRecordIsNoticedAndTheOthersKept) {
  change("DELETE FROM records WHERE run = 2 AND position = 0");
  EXPECT_THAT(open_store(path)->verify(), SizeIs(1));
  open_store(path)->repair();
  EXPECT_THAT(open_store(path)->verify(), IsEmpty());
  EXPECT_THAT(open_store(path)->records(2), SizeIs(2));
}

TEST_F(DamagedHistory, TheFileAndItsCopyAreTheUsersOwn) {
  for (const std::string& file : {path, open_store(path)->repair().copy}) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << file;
  }
}

}  // namespace
}  // namespace headroom::test
