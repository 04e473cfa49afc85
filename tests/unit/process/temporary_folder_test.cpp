// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "headroom/base/error.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// TMPDIR is a folder of the test's own.
class TemporaryFolders : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv("TMPDIR")) before_ = value;
    char name[] = "/tmp/headroom_folders_XXXXXX";
    parent_ = ::mkdtemp(name);
    ::setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
    fs::remove_all(parent_);
  }
  fs::path parent_;

 private:
  std::optional<std::string> before_;
};

void make_old(const fs::path& folder) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

TEST_F(TemporaryFolders, IsMadeAndRemovedWithAllInIt) {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_EQ(path.parent_path(), parent_);
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "b" / "file") << "text";
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(TemporaryFolders, FoldersClosedByAProgramAreRemoved) {
  {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "a" / "b");
    std::ofstream(folder.path() / "a" / "b" / "file") << "text";
    fs::permissions(folder.path() / "a" / "b", fs::perms::none);
    fs::permissions(folder.path() / "a", fs::perms::owner_read);
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(TemporaryFolders, WhatLinksPointToStays) {
  fs::create_directory(parent_ / "kept");
  std::ofstream(parent_ / "kept" / "file") << "text";
  {
    const TemporaryFolder folder;
    fs::create_directory_symlink(parent_ / "kept", folder.path() / "link");
  }
  EXPECT_TRUE(fs::exists(parent_ / "kept" / "file"));
}

TEST_F(TemporaryFolders, RemovedBySomeoneElseIsNoError) {
  const TemporaryFolder folder;
  fs::remove_all(folder.path());
}

TEST_F(TemporaryFolders, MovesKeepIt) {
  TemporaryFolder first;
  const fs::path path = first.path();
  std::optional<TemporaryFolder> moved(std::move(first));
  EXPECT_TRUE(fs::exists(path));
  *moved = TemporaryFolder();
  EXPECT_FALSE(fs::exists(path));
  moved.reset();
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(TemporaryFolders, WhatAKilledProgramLeftIsRemovedAndWhatIsInUseIsNot) {
  const fs::path left = parent_ / "headroom-work-abcdef", young = parent_ / "headroom-work-fedcba",
                 foreign = parent_ / "other", named_alike = parent_ / "headroom-work-mydata",
                 linked = parent_ / "headroom-work-linked";
  for (const fs::path& folder : {left, young, foreign, named_alike, linked}) fs::create_directory(folder);
  for (const fs::path& folder : {left, young, foreign}) std::ofstream(folder / ".made-by-headroom");
  std::ofstream(named_alike / "thesis.txt") << "mine";
  fs::create_symlink("/dev/null", linked / ".made-by-headroom");
  for (const fs::path& folder : {left, foreign, named_alike, linked}) make_old(folder);
  const TemporaryFolder used;
  make_old(used.path());
  const TemporaryFolder another;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_TRUE(fs::exists(named_alike / "thesis.txt")) << "a name is no marker";
  EXPECT_TRUE(fs::exists(linked)) << "nor is a link";
  EXPECT_TRUE(fs::exists(used.path()));
}

TEST_F(TemporaryFolders, WhatAnotherUserMadeIsNotRemoved) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  constexpr uid_t kOther = 1;
  const fs::path theirs = parent_ / "headroom-work-theirs", marked = parent_ / "headroom-work-marked";
  for (const fs::path& folder : {theirs, marked}) {
    fs::create_directory(folder);
    std::ofstream(folder / ".made-by-headroom");
    make_old(folder);
  }
  ASSERT_EQ(::chown(theirs.c_str(), kOther, kOther), 0);
  ASSERT_EQ(::chown((marked / ".made-by-headroom").c_str(), kOther, kOther), 0);
  { const TemporaryFolder another; }
  EXPECT_TRUE(fs::exists(theirs));
  EXPECT_TRUE(fs::exists(marked));
}

TEST_F(TemporaryFolders, NowhereToMakeItIsAnError) {
  ::setenv("TMPDIR", (parent_ / "absent").c_str(), 1);
  EXPECT_THROW(TemporaryFolder(), Error);
}

}  // namespace
}  // namespace headroom
