// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "../error_message.h"
#include "../file_tree.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using namespace testing;

class FilesTest : public testing::Test {
 protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static mode_t mode(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  const FileTree tree_;
  const fs::path folder_ = tree_.root();
};

TEST_F(FilesTest, WritesAndReadsBack) {
  const std::string content("a\0b\n", 4);
  write_file_atomically(folder_ / "x", content);
  EXPECT_EQ(read_file(folder_ / "x"), content);
  write_file_atomically(folder_ / "x", "");
  EXPECT_EQ(read_file(folder_ / "x"), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, MakesNoFolder) {
  fs::create_symlink("gone/file", folder_ / "link");
  for (const char* path : {"a/b/c.txt", "a/c.txt", "link"}) {
    const auto message = HasSubstr("there is no folder");
    EXPECT_THAT(message_of([&] { write_file_atomically(folder_ / path, "x"); }), message) << path;
    EXPECT_THAT(message_of([&] { require_writable(folder_ / path); }), message) << path;
  }
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, TakesARelativePathWithoutAFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file_atomically("plain.txt", "x");
  require_writable("plain.txt");
  require_writable("other.txt");
  fs::current_path(before);
  EXPECT_EQ(read_file(folder_ / "plain.txt"), "x");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, TakesTheLongestNameThatTheFileSystemTakes) {
  const fs::path path = folder_ / std::string(255, 'n');
  write_file_atomically(path, "x");
  EXPECT_EQ(read_file(path), "x");
}

TEST_F(FilesTest, KeepsThePermissionsOfAnExistingFile) {
  write_file_atomically(folder_ / "x", "1");
  ::chmod((folder_ / "x").c_str(), 0640);
  write_file_atomically(folder_ / "x", "2");
  EXPECT_EQ(mode(folder_ / "x"), 0640U);
}

TEST_F(FilesTest, NewFilesFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(folder_ / "x", "1");
  ::umask(before);
  EXPECT_EQ(mode(folder_ / "x"), 0640U);
}

TEST_F(FilesTest, FollowsSymbolicLinks) {
  fs::create_directory(folder_ / "data");
  fs::create_symlink("data/file", folder_ / "link");
  fs::create_symlink("link", folder_ / "link2");
  write_file_atomically(folder_ / "link2", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link2"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "data/file"), "new");
  write_file_atomically(folder_ / "link", "newer");
  EXPECT_EQ(read_file(folder_ / "data/file"), "newer");
}

TEST_F(FilesTest, RefusesALinkThatAnotherUserPlanted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives links away";
  constexpr uid_t kOwner = 12345, kOther = 54321;
  const fs::path shared = folder_ / "shared", link = shared / "out.json", target = folder_ / "target.json";
  fs::create_directory(shared);
  ASSERT_EQ(::chown(shared.c_str(), kOwner, 0), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  std::ofstream(target) << "before";
  fs::create_symlink(target, link);
  ASSERT_EQ(::lchown(link.c_str(), kOther, 0), 0);
  EXPECT_THAT(message_of([&] { write_file_atomically(link, "after"); }), HasSubstr("another user's link"));
  EXPECT_THAT(message_of([&] { require_writable(link); }), HasSubstr("another user's link"));
  EXPECT_EQ(read_file(target), "before");
  for (const uid_t trusted : {kOwner, ::geteuid()}) {
    ASSERT_EQ(::lchown(link.c_str(), trusted, 0), 0);
    write_file_atomically(link, std::to_string(trusted));
    EXPECT_EQ(read_file(target), std::to_string(trusted));
  }
  ASSERT_EQ(::lchown(link.c_str(), kOther, 0), 0);
  ASSERT_EQ(::chmod(shared.c_str(), 0755), 0);
  write_file_atomically(link, "in a folder of one owner");
}

TEST_F(FilesTest, RefusesAPlantedLinkInTheMiddleOfAPath) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives links away";
  constexpr uid_t kOther = 54321;
  const fs::path shared = folder_ / "shared", link = shared / "results", target = folder_ / "target";
  fs::create_directory(shared);
  fs::create_directories(target / "deep");
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  fs::create_symlink(target, link);
  fs::create_symlink(link / "deep", folder_ / "ours");
  ASSERT_EQ(::lchown(link.c_str(), kOther, 0), 0);
  const auto refused = HasSubstr("another user's link");
  for (const fs::path& path : {link / "a.json", link / "deep/a.json", link / "../shared/results/deep/a.json",
                               folder_ / "ours/a.json"}) {
    EXPECT_THAT(message_of([&] { write_file_atomically(path, "x"); }), refused) << path;
    EXPECT_THAT(message_of([&] { require_writable(path); }), refused) << path;
    EXPECT_THAT(message_of([&] { make_folders_above(path / "folder/file"); }), refused) << path;
    EXPECT_THAT(message_of([&] { require_writable_folder(path / "folder"); }), refused) << path;
  }
  EXPECT_TRUE(fs::is_empty(target / "deep"));
  ASSERT_EQ(::lchown(link.c_str(), ::geteuid(), 0), 0);
  write_file_atomically(folder_ / "ours/a.json", "x");
  EXPECT_EQ(read_file(target / "deep/a.json"), "x");
}

TEST_F(FilesTest, ResolvesLinksAsTheKernelDoes) {
  fs::create_directories(folder_ / "a/b");
  fs::create_symlink("a/b", folder_ / "link");
  fs::create_symlink("../../c", folder_ / "a/b/up");
  EXPECT_EQ(resolve_output_path(folder_ / "link/up/file"), folder_ / "a/b/../../c/file");
  EXPECT_EQ(resolve_output_path(folder_ / "link/../new"), folder_ / "a/b/../new");
  EXPECT_EQ(resolve_output_path("new/file"), "new/file");
  EXPECT_EQ(resolve_output_path("/dev/stdout"), "/dev/stdout");
  fs::create_symlink("/dev/fd/1", folder_ / "out");
  EXPECT_EQ(resolve_output_path(folder_ / "out"), "/dev/fd/1");
}

TEST_F(FilesTest, RefusesALoopOfLinks) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THROW(write_file_atomically(folder_ / "a", "x"), Error);
  EXPECT_THROW(require_writable(folder_ / "a"), Error);
}

TEST_F(FilesTest, ReplacesTheFileInsteadOfChangingIt) {
  write_file_atomically(folder_ / "x", "old");
  const int before = ::open((folder_ / "x").c_str(), O_RDONLY);
  write_file_atomically(folder_ / "x", "newer");
  char block[16];
  ASSERT_EQ(::read(before, block, sizeof block), 3);
  EXPECT_EQ(std::string(block, 3), "old");
  ::close(before);
  EXPECT_EQ(read_file(folder_ / "x"), "newer");
}

TEST_F(FilesTest, KeepsTheOldFileWhenTheNewOneCannotBeWrittenWhole) {
  write_file_atomically(folder_ / "x", "old");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      message_of([&] { write_file_atomically(folder_ / "x", std::string(100000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write"), HasSubstr("too large")));
  EXPECT_EQ(read_file(folder_ / "x"), "old");
  EXPECT_EQ(entries(), 1U) << "the temporary file was left behind";
}

TEST_F(FilesTest, KilledAtAnyMomentTheFileIsOldOrWhole) {
  const fs::path path = folder_ / "x";
  const std::string old_content(200000, 'o'), new_content(200000, 'n');
  for (int round = 0; round < 12; ++round) {
    write_file_atomically(path, old_content);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) write_file_atomically(path, new_content);
    }
    ::usleep(static_cast<useconds_t>(500 + round * 700));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_THAT(read_file(path), AnyOf(old_content, new_content));
  }
}

TEST_F(FilesTest, WritesDevicesAndPipesDirectly) {
  write_file_atomically("/dev/null", "x");
  EXPECT_THAT(message_of([] { write_file_atomically("/dev/full", "x"); }),
              AllOf(HasSubstr("'/dev/full'"), HasSubstr("No space left"), HasSubstr("free space")));
  struct stat info {};
  ASSERT_EQ(::stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  write_file_atomically("/dev/fd/" + std::to_string(ends[1]), "through");
  char block[16];
  EXPECT_EQ(::read(ends[0], block, sizeof block), 7);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(FilesTest, WritesItsOwnDescriptorWhereItStands) {
  const fs::path path = folder_ / "out";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(::write(fd, "first\n", 6), 6);
  write_file_atomically("/proc/self/fd/" + std::to_string(fd), "second\n");
  ASSERT_EQ(::write(fd, "third\n", 6), 6);
  ::close(fd);
  EXPECT_EQ(read_file(path), "first\nsecond\nthird\n");
}

TEST_F(FilesTest, SaysWhatIsWrongWithThePath) {
  write_file_atomically(folder_ / "file", "x");
  for (const fs::path& path :
       {folder_, folder_ / "", folder_ / "file/below", folder_ / "file/a/b", fs::path("/proc/nowhere/x"),
        fs::path("/proc/x"), fs::path("/sys/x"), fs::path(), folder_ / std::string(300, 'n')}) {
    EXPECT_THAT(message_of([&] { write_file_atomically(path, "y"); }), HasSubstr("cannot write")) << path;
    EXPECT_THAT(message_of([&] { require_writable(path); }), HasSubstr("cannot write")) << path;
  }
  EXPECT_THAT(message_of([&] { write_file_atomically(folder_, "y"); }), HasSubstr("is a folder"));
  EXPECT_EQ(read_file(folder_ / "file"), "x");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, RequireWritableCreatesNothing) {
  require_writable(folder_ / "new");
  require_writable_folder(folder_ / "new/deep");
  require_writable_folder(folder_);
  require_writable("/dev/null");
  require_writable("/dev/stdout");
  EXPECT_EQ(entries(), 0U);
  write_file_atomically(folder_ / "old", "x");
  require_writable(folder_ / "old");
  EXPECT_EQ(read_file(folder_ / "old"), "x");
  EXPECT_THROW(require_writable_folder(folder_ / "old"), Error);
  EXPECT_THROW(require_writable_folder(folder_ / "old/deep"), Error);
  EXPECT_THROW(require_writable_folder("/proc/x"), Error);
}

TEST_F(FilesTest, RequireWritableRefusesADescriptorThatIsOnlyRead) {
  const int fd = ::open("/dev/null", O_RDONLY);
  EXPECT_THROW(require_writable("/dev/fd/" + std::to_string(fd)), Error);
  ::close(fd);
  EXPECT_THROW(require_writable("/dev/fd/" + std::to_string(fd)), Error);
}

TEST_F(FilesTest, ReadFileNamesWhatItCannotRead) {
  EXPECT_THAT(message_of([&] { read_file(folder_ / "gone"); }),
              AllOf(HasSubstr("gone"), HasSubstr("No such file")));
  EXPECT_THAT(message_of([&] { read_file(folder_); }),
              AllOf(HasSubstr("cannot read"), HasSubstr("directory")));
}

TEST(ThisExecutable, IsAnExistingAbsolutePath) {
  EXPECT_TRUE(this_executable().is_absolute());
  EXPECT_TRUE(fs::exists(this_executable()));
}

class KeptVariable {
 public:
  explicit KeptVariable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
  }
  ~KeptVariable() { set(value_ ? value_->c_str() : nullptr); }
  KeptVariable(const KeptVariable&) = delete;
  KeptVariable& operator=(const KeptVariable&) = delete;

  void set(const char* value) const { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }

 private:
  const char* name_;
  std::optional<std::string> value_;
};

struct UserFolder {
  const char* variable;
  const char* below_home;
  std::filesystem::path (*folder)();
};

class UserFolders : public testing::TestWithParam<UserFolder> {};

TEST_P(UserFolders, FollowTheXdgVariablesAndHome) {
  const KeptVariable home("HOME"), variable(GetParam().variable);
  home.set("/home/u");
  variable.set("/elsewhere");
  EXPECT_EQ(GetParam().folder(), "/elsewhere/headroom");
  variable.set("relative");
  EXPECT_EQ(GetParam().folder(), std::string("/home/u/") + GetParam().below_home + "/headroom");
  variable.set(nullptr);
  EXPECT_EQ(GetParam().folder(), std::string("/home/u/") + GetParam().below_home + "/headroom");
  home.set(nullptr);
  EXPECT_THROW(GetParam().folder(), Error);
}

INSTANTIATE_TEST_SUITE_P(All, UserFolders,
                         testing::Values(UserFolder{"XDG_DATA_HOME", ".local/share", user_data_folder},
                                         UserFolder{"XDG_CACHE_HOME", ".cache", user_cache_folder},
                                         UserFolder{"XDG_STATE_HOME", ".local/state", user_state_folder}),
                         [](const auto& info) { return std::string(info.param.variable); });

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
