// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/journal.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "journal_test.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  Journal journal(folder_ / "a" / "b");
  journal.append("one");
  journal.append("");
  journal.append("{\"two\": \"zwei ä\"}");
  const JournalLines read = read_journal(journal.path());
  EXPECT_THAT(read.lines, ElementsAre("one", "", "{\"two\": \"zwei ä\"}"));
  EXPECT_EQ(read.damaged, 0U);
}

TEST_F(JournalTest, IsReadableByItsUserAlone) {
  const Journal journal(folder_);
  struct stat info {};
  ASSERT_EQ(::stat(journal.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(JournalTest, IsKnownToRunWhoeverLooksMeanwhile) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> lookers;
  for (int i = 0; i < 3; ++i) {
    lookers.emplace_back([&] {
      while (!is_over) unfinished_journals(folder_);
    });
  }
  std::size_t lost = 0;
  for (int i = 0; i < 200; ++i) {
    Journal journal(folder_);
    if (running_journals(folder_).empty()) ++lost;
    journal.remove();
  }
  is_over = true;
  for (std::thread& looker : lookers) looker.join();
  EXPECT_EQ(lost, 0U);
}

TEST_F(JournalTest, EveryCutLeavesTheLinesBeforeIt) {
  fs::path path;
  {
    Journal journal(folder_);
    journal.append("first");
    journal.append("second");
    path = journal.path();
  }
  const std::string whole = read_file(path);
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    fs::resize_file(path, size);
    const JournalLines read = read_journal(path);
    EXPECT_EQ(read.lines.size(), size < first ? 0U : 1U);
    EXPECT_EQ(read.damaged, size < first ? size : size - first);
    std::ofstream(path) << whole;
  }
}

TEST_F(JournalTest, NoFlippedBitIsTakenForALine) {
  fs::path path;
  {
    Journal journal(folder_);
    journal.append("first");
    journal.append("second");
    path = journal.path();
  }
  const std::string whole = read_file(path);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(path) << flipped;
    const JournalLines read = read_journal(path);
    ASSERT_LT(read.lines.size(), 2U) << "bit " << bit;
    for (const std::string& line : read.lines) ASSERT_EQ(line, "first");
  }
}

TEST_F(JournalTest, IsUnfinishedOnceItsWriterIsGone) {
  fs::path path;
  {
    const Journal journal(folder_);
    path = journal.path();
    EXPECT_THAT(unfinished_journals(folder_), IsEmpty());
    EXPECT_THAT(running_journals(folder_), ElementsAre(path));
  }
  EXPECT_THAT(unfinished_journals(folder_), ElementsAre(path));
  EXPECT_THAT(running_journals(folder_), IsEmpty());
  EXPECT_THAT(unfinished_journals(folder_ / "none"), IsEmpty());
  Journal done(folder_);
  done.remove();
  EXPECT_THAT(unfinished_journals(folder_), ElementsAre(path));
}

/// A limit on the size of files stands for a full disk: a write gives what fits, the next one fails.
TEST_F(JournalTest, AFullDiskLeavesWholeLinesAndTheNextOneFits) {
  Journal journal(folder_);
  journal.append("kept");
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  for (rlim_t room = 0; room < 40; ++room) {
    const rlimit full{fs::file_size(journal.path()) + room, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    EXPECT_THROW(journal.append(std::string(40, 'x')), Error);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(read_journal(journal.path()).damaged, 0U);
  }
  std::signal(SIGXFSZ, old);
  journal.append("after");
  EXPECT_THAT(read_journal(journal.path()).lines, ElementsAre("kept", "after"));
}

}  // namespace
}  // namespace headroom
