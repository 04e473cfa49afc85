// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/file_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "headroom/base/compressed_file.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

class FileWriterTest : public testing::Test {
 protected:
  FileWriterTest() : folder_(fs::temp_directory_path() / ("headroom-writer-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~FileWriterTest() override { fs::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
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

/// A limit on the size of files stands for a disk that was full for a moment.
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

}  // namespace
}  // namespace headroom
