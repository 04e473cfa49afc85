// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "../file_tree.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/files/compressed_file.h"
#include "headroom/files/journal.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;

class FileWriterTest : public testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  const FileTree tree_;
  const fs::path folder_ = tree_.root();
};

TEST_F(FileWriterTest, PacksByTheEndingOfTheName) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i) + ",";
  for (const char* name : {"plain.json", "a.json.gz", "a.json.zst"}) {
    const fs::path path = folder_ / name;
    FileWriter writer(path);
    for (std::size_t at = 0; at < text.size(); at += 99991)
      writer.write(std::string_view(text).substr(at, 99991));
    writer.finish();
    EXPECT_EQ(read_compressed_file(path).view(), text) << name;
    EXPECT_EQ(read_file(path) == text, path.extension() == ".json") << name;
  }
}

TEST_F(FileWriterTest, AnEmptyFileIsOneToo) {
  for (const char* name : {"a", "b.gz", "c.zst"}) {
    FileWriter writer(folder_ / name);
    writer.finish();
    EXPECT_EQ(read_compressed_file(folder_ / name).view(), "") << name;
  }
}

TEST_F(FileWriterTest, WithoutAnEndNothingChanges) {
  const fs::path path = folder_ / "kept";
  write_file_atomically(path, "before");
  {
    FileWriter writer(path);
    writer.write("after");
  }
  EXPECT_EQ(read_file(path), "before");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileWriterTest, KeepsModeAndLinks) {
  const fs::path path = folder_ / "file", link = folder_ / "link";
  write_file_atomically(path, "before");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path, link);
  FileWriter writer(link);
  writer.write("after");
  writer.finish();
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(path), "after");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

/// A file size limit simulates a temporarily full disk.
TEST_F(FileWriterTest, WhatLostAPieceIsNeverFinished) {
  for (const char* name : {"a.json", "a.json.gz", "a.json.zst"}) {
    write_file_atomically(folder_ / name, "before");
    {
      FileWriter writer(folder_ / name);
      struct rlimit before {};
      ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
      const auto old = std::signal(SIGXFSZ, SIG_IGN);
      const rlimit full{100, before.rlim_max};
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
      std::string noise;
      std::mt19937 random(1);
      for (int i = 0; i < 2'000'000; ++i) noise += static_cast<char>(random());
      EXPECT_THROW(writer.write(noise), Error);
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
      std::signal(SIGXFSZ, old);
      EXPECT_THROW(writer.finish(), Error);
    }
    EXPECT_EQ(read_file(folder_ / name), "before");
  }
}

TEST_F(FileWriterTest, SaysWhatCannotBeWritten) {
  EXPECT_THROW(FileWriter writer(folder_), Error);
  write_file_atomically(folder_ / "file", "");
  EXPECT_THROW(FileWriter writer(folder_ / "file" / "below"), Error);
}

class JournalTest : public testing::Test {
 protected:
  fs::path two_lines() const {
    Journal journal(folder_);
    journal.append("first");
    journal.append("second");
    return journal.path();
  }

  const FileTree tree_;
  const fs::path folder_ = tree_.root();
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
  const fs::path path = two_lines();
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
  const fs::path path = two_lines();
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
