// SPDX-License-Identifier: Apache-2.0
// What is true of the file only: whose it is, where it may be written, what is left when the disk is full.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "headroom/base/files.h"
#include "store_fixture.h"

namespace headroom::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Refused both ways, and not a byte or a file more than before.
void expect_refused(const TemporaryFolder& folder, const fs::path& path, const std::string& why) {
  const std::string before = read_file(path);
  const std::size_t files = files_in(folder.path());
  for (const StoreAccess access : {StoreAccess::kRead, StoreAccess::kReadWrite}) {
    const std::string message = message_of([&] { open_store(path.string(), access); });
    EXPECT_THAT(message, HasSubstr(why));
    EXPECT_THAT(message, HasSubstr(path.string()));
  }
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(files_in(folder.path()), files);
}

TEST(SqliteFile, FilesOfOthersAreRefused) {
  const TemporaryFolder folder;
  for (const std::string& content :
       {std::string("x"), std::string("{\"a\": 1}\n"), std::string(5000, '\0')}) {
    write_file_atomically(folder / "other", content);
    expect_refused(folder, folder / "other", "not a history of headroom: the file holds something else");
  }
  run_sql(folder / "other.sqlite", "CREATE TABLE runs (id INTEGER); INSERT INTO runs VALUES (1)");
  expect_refused(folder, folder / "other.sqlite", "SQLite database of another program");
}

TEST(SqliteFile, NewerHistoriesAreRefused) {
  const TemporaryFolder folder;
  open_store((folder / "h").string())->append(run_at(1, 1));
  run_sql(
      folder / "h",
      "UPDATE headroom_store SET schema_version = 2; PRAGMA user_version = 2; PRAGMA journal_mode = DELETE");
  expect_refused(folder, folder / "h", "schema 2, written by a newer headroom");
}

TEST(SqliteFile, NewerSchemaInTheTableAloneIsRefused) {
  const TemporaryFolder folder;
  open_store((folder / "h").string())->append(run_at(1, 1));
  run_sql(folder / "h", "UPDATE headroom_store SET schema_version = 7");
  EXPECT_THAT(message_of([&] { open_store((folder / "h").string()); }), HasSubstr("schema 7"));
}

TEST(SqliteFile, FoldersAndDevicesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { open_store(folder.path().string()); }), HasSubstr("no regular file"));
  EXPECT_THAT(message_of([] { open_store("/dev/null"); }), HasSubstr("no regular file"));
  EXPECT_THAT(message_of([] { open_store("/dev/null/h"); }), HasSubstr("cannot open the history"));
}

TEST(SqliteFile, EmptyFileBecomesAHistory) {
  const TemporaryFolder folder;
  std::ofstream(folder / "h").close();
  open_store((folder / "h").string())->append(run_at(1, 1));
  EXPECT_EQ(open_store("sqlite:" + (folder / "h").string(), StoreAccess::kRead)->runs().size(), 1u);
}

TEST(SqliteFile, NamesWithOddCharacters) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a b?mode=ro#%41&.db";
  open_store(path.string())->append(run_at(1, 1));
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(open_store(path.string(), StoreAccess::kRead)->runs().size(), 1u);
}

TEST(SqliteFile, DamagedRecordIsTold) {
  const TemporaryFolder folder;
  open_store((folder / "h").string())->append(run_at(1, 1));
  run_sql(folder / "h", "UPDATE records SET content = x'00'");
  EXPECT_THAT(message_of([&] { open_store((folder / "h").string())->records(1); }),
              HasSubstr("run 1: damaged"));
}

/// Runs `body` in a child process that has given up root; returns its exit status.
template <typename Body>
int status_as_nobody(const fs::path& folder, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 &&
        (::chown(folder.c_str(), 0, 0) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
      ::_exit(99);
    }
    int status = 98;
    try {
      status = body();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SqliteFile, ReadOnlyFileInAReadOnlyFolderCanBeRead) {
  const TemporaryFolder folder;
  const std::string place = (folder / "h").string();
  open_store(place)->append(run_at(1, 1));
  fs::permissions(place, fs::perms{0444});
  fs::permissions(folder.path(), fs::perms{0555});
  const int status = status_as_nobody(folder.path(), [&] {
    if (open_store(place, StoreAccess::kRead)->runs().size() != 1) return 1;
    const std::string message = message_of([&] { open_store(place)->append(run_at(2, 2)); });
    return message.find("readonly") != std::string::npos && message.find("--store") != std::string::npos ? 0
                                                                                                         : 2;
  });
  fs::permissions(folder.path(), fs::perms{0755});
  EXPECT_EQ(status, 0);
  EXPECT_EQ(open_store(place, StoreAccess::kRead)->runs().size(), 1u);
}

/// Where the log that holds the newest runs cannot be read, the file alone is not the whole truth.
TEST(SqliteFile, AReaderThatCannotUseTheLogDoesNotLeaveItOut) {
  const TemporaryFolder folder;
  const std::string place = (folder / "h").string(), copy = (folder / "copy").string();
  open_store(place)->append(run_at(1, 1));
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

TEST(SqliteFile, FullDiskLosesTheRunAndNothingElse) {
  const TemporaryFolder folder;
  const std::string place = (folder / "h").string();
  open_store(place)->append(run_at(1, 1));
  const pid_t child = ::fork();
  if (child == 0) {
    // A limit on the size of files stands for the full disk: writes fail in the same place.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200000, 200000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      const auto store = open_store(place);
      const std::string message = message_of([&] { store->append(run_at(2, 2, 2000)); });
      if (message.find("disk full") != std::string::npos && store->runs().size() == 1) status = 0;
      store->append(run_at(3, 3));
    } catch (...) {
      status = 2;
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto store = open_store(place);
  EXPECT_EQ(store->runs().size(), 2u);
  EXPECT_EQ(store->records(store->find_run("@last")).size(), 3u);
}

}  // namespace
}  // namespace headroom::test
