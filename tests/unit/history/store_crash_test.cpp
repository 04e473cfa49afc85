// SPDX-License-Identifier: Apache-2.0
// Several processes at once, and processes that are killed while they write. HEADROOM_STORE_RUNS and
// HEADROOM_STORE_KILLS ask for more than the few that fit a unit test.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "store_fixture.h"

namespace headroom::test {
namespace {

class StoreCrashTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreCrashTest, testing::ValuesIn(backends()), backend_name);

int from_environment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

/// A child process that does nothing of the test framework's own at its end.
template <typename Body>
pid_t child_process(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 1;
  try {
    body();
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child process: %s\n", error.what());
  }
  ::_exit(status);
}

/// Every run has the records that it says, and its first record tells who wrote it.
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
    // Each opens a store that is not there yet: one of them makes it.
    children.push_back(child_process([&, process] {
      const auto store = open();
      for (int run = 0; run < runs; ++run) {
        const auto time = static_cast<std::uint64_t>(1 + run * kProcesses + process);
        store->append(run_at(time, static_cast<double>(time), 4));
      }
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
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
    // What the writer was told to be stored is there, and what is there is whole.
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
    const std::string place = (folder / ("h" + std::to_string(kill))).string();
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

}  // namespace
}  // namespace headroom::test
