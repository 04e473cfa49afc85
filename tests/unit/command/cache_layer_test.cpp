// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_layer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/command/page_cache.h"
#include "headroom/command/set_aside.h"
#include "headroom/process/temporary_folder.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Layer : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(cache_ / "deep");
    write_file_atomically(cache_ / "deep/old", "content");
  }
  void write(const fs::path& name) { write_file_atomically(name, "12345"); }

  TemporaryFolder folder_;
  fs::path journal_ = folder_.path() / "journal";
  fs::path cache_ = folder_.path() / "home/cache";
};

TEST_F(Layer, PartsOfInductorAreTakenAwayOneByOneAlsoThoseBelowTheTemporaryFolder) {
  const fs::path temporary = folder_.path() / "tmp";
  const fs::path headers = temporary / "torchinductor_me/precompiled_headers";
  const auto layer = open_layer(parse_layer("inductor"), folder_.path(), temporary, journal_);
  layer->clear();
  fs::create_directories(headers);
  write(headers / "big.gch");
  write(temporary / "torchinductor_me/other");
  for (const char* part : {"fxgraph", "aotautograd", "ab", "triton/0", "cache"}) {
    fs::create_directories(layer->folder() / part);
    write(layer->folder() / part / "x");
  }
  write(layer->folder() / "ab/y.best_config");
  EXPECT_EQ(layer->content().files, 7U);  // of those below TMPDIR the header alone is the layer's
  const std::vector<std::string> names = layer->parts();
  EXPECT_THAT(names, testing::ElementsAre("inductor.fx_graph", "inductor.aot_autograd", "inductor.headers",
                                          "inductor.triton", "inductor.autotune", "inductor.code"));
  const std::vector<std::vector<fs::path>> files{
      {layer->folder() / "fxgraph/x"},
      {layer->folder() / "aotautograd/x"},
      {headers / "big.gch"},
      {layer->folder() / "triton/0/x"},
      {layer->folder() / "cache/x", layer->folder() / "ab/y.best_config"},
      {layer->folder() / "ab/x"}};
  const auto count = [](const std::vector<fs::path>& all) {
    return std::ranges::count_if(all, [](const fs::path& file) { return fs::exists(file); });
  };
  for (std::size_t part = 0; part < names.size(); ++part) {
    SCOPED_TRACE(names[part]);
    EXPECT_EQ(layer->part_content(part).files, files[part].size());
    layer->take_away(part);
    for (std::size_t other = 0; other < names.size(); ++other)
      EXPECT_EQ(count(files[other]), other == part ? 0 : std::ssize(files[other])) << names[other];
    EXPECT_TRUE(fs::exists(temporary / "torchinductor_me/other"));
    EXPECT_EQ(layer->damage(), "");
    layer->bring_back(part);
    EXPECT_EQ(layer->content().files, 7U);
  }
  const LayerSpec spec = parse_layer("inductor");
  const LeftOver left = left_over(temporary, {&spec, 1});
  EXPECT_EQ(left.content.files, 1U);
  EXPECT_EQ(left.where, "torchinductor_me");
}

TEST_F(Layer, WhatIsBroughtBackIsAsItWasAndNothingElseIsThere) {
  for (const std::string& name : {std::string("jax"), "folder:" + cache_.string()}) {
    SCOPED_TRACE(name);
    const auto layer = open_layer(parse_layer(name), folder_.path(), folder_.path() / "tmp", journal_);
    layer->clear();
    const fs::path folder = layer->folder();
    fs::create_directory(folder / "sub");
    write_file_atomically(folder / "sub/a", "as it was");
    const auto time = fs::last_write_time(folder / "sub/a");
    EXPECT_THAT(layer->parts(), testing::ElementsAre(name));
    layer->take_away(0);
    EXPECT_EQ(layer->folder(), folder);
    EXPECT_EQ(layer->content().files, 0U);
    fs::create_directories(folder / "sub");
    write_file_atomically(folder / "sub/a", "made again");
    write(folder / "new");
    layer->bring_back(0);
    EXPECT_EQ(read_file(folder / "sub/a"), "as it was");
    EXPECT_EQ(fs::last_write_time(folder / "sub/a"), time);
    EXPECT_FALSE(fs::exists(folder / "new"));
  }
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
  EXPECT_FALSE(fs::exists(folder_.path() / "home/.cache.headroom-warm"));
}

TEST_F(Layer, FreshFoldersAreNewAndEmptyEachTime) {
  const auto layer = open_layer(parse_layer("jax"), folder_.path(), folder_.path() / "tmp", journal_);
  layer->clear();
  const fs::path first = layer->folder();
  EXPECT_THAT(layer->environment(),
              testing::Contains(testing::Pair("JAX_COMPILATION_CACHE_DIR", first.string())));
  EXPECT_THAT(layer->environment(),
              testing::Contains(testing::Key("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")));
  write(first / "a");
  fs::create_directory(first / "sub");
  write(first / "sub/b");
  EXPECT_EQ(layer->content().files, 2U);
  EXPECT_EQ(layer->content().bytes, 10U);
  EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("2 files"));
  layer->clear();
  EXPECT_NE(layer->folder(), first);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(layer->content().files, 0U);
  EXPECT_EQ(layer->warmth(layer->content()), "");
  EXPECT_EQ(layer->damage(), "");
  fs::remove(layer->folder());
  EXPECT_THAT(layer->damage(), HasSubstr("removed the folder of the cache layer 'jax'"));
}

TEST_F(Layer, AFolderIsSetAsideAndPutBack) {
  fs::permissions(cache_, fs::perms::owner_all);
  {
    const auto layer = open_layer(parse_layer("folder:" + cache_.string()), folder_.path(),
                                  folder_.path() / "tmp", journal_);
    EXPECT_EQ(fs::status(cache_).permissions(), fs::perms::owner_all);
    EXPECT_EQ(layer->content().files, 0U);
    write(cache_ / "new");
    EXPECT_EQ(layer->content().files, 1U);
    layer->clear();
    EXPECT_EQ(layer->content().files, 0U);
    fs::remove(cache_);
    EXPECT_NE(layer->damage(), "");
  }
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(cache_), ElementsAre("deep"));
  EXPECT_THAT(names_in(cache_.parent_path()), ElementsAre("cache"));
  EXPECT_THAT(names_in(journal_), IsEmpty());
}

TEST_F(Layer, AFolderThatWasNotThereIsGoneAgain) {
  const fs::path none = folder_.path() / "home/none";
  {
    SetAsideFolder aside(none, journal_);
    write(none / "new");
  }
  EXPECT_FALSE(fs::exists(none));
}

TEST_F(Layer, LinksAreFollowed) {
  fs::create_directory_symlink(cache_, folder_.path() / "link");
  {
    const SetAsideFolder aside(folder_.path() / "link", journal_);
    EXPECT_EQ(aside.folder(), fs::canonical(cache_));
    EXPECT_THAT(names_in(folder_.path() / "link"), IsEmpty());
  }
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
}

TEST_F(Layer, WhatMustNotBeSetAside) {
  EXPECT_THROW(SetAsideFolder("/", journal_), Error);
  EXPECT_THROW(SetAsideFolder(cache_ / "deep/old", journal_), Error);
}

TEST_F(Layer, TwoProgramsDoNotSetAsideTheSameFolder) {
  {
    const SetAsideFolder aside(cache_, journal_);
    EXPECT_THROW(SetAsideFolder(cache_, journal_), Error);
    EXPECT_THAT(recover_set_aside(journal_), IsEmpty()) << "in use";
    EXPECT_TRUE(fs::exists(aside.aside() / "deep/old"));
  }
  EXPECT_TRUE(fs::exists(cache_ / "deep/old"));
}

TEST_F(Layer, WhatSomebodyElseMovedBackIsNotRemoved) {
  {
    SetAsideFolder aside(cache_, journal_);
    fs::remove_all(cache_);
    fs::rename(aside.aside(), cache_);
    EXPECT_THROW(aside.empty_again(), Error);
  }
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(journal_), IsEmpty());
}

/// A process that sets the folder aside and is killed before it can put it back.
void set_aside_and_die(const fs::path& cache, const fs::path& journal, bool leave_something) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SetAsideFolder aside(cache, journal);
    if (leave_something) write_file_atomically(cache / "later", "later");
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(Layer, AKilledProgramsFolderIsRecovered) {
  set_aside_and_die(cache_, journal_, false);
  EXPECT_FALSE(fs::exists(cache_ / "deep/old"));
  EXPECT_THAT(recover_set_aside(journal_), ElementsAre(HasSubstr("is back at its place")));
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_THAT(names_in(cache_.parent_path()), ElementsAre("cache"));
  EXPECT_THAT(recover_set_aside(journal_), IsEmpty());
}

TEST_F(Layer, WhatCameMeanwhileIsKept) {
  set_aside_and_die(cache_, journal_, true);
  EXPECT_THAT(recover_set_aside(journal_), ElementsAre(HasSubstr(".cache.headroom-left")));
  EXPECT_EQ(read_file(cache_ / "deep/old"), "content");
  EXPECT_EQ(read_file(cache_.parent_path() / ".cache.headroom-left/later"), "later");
}

TEST_F(Layer, NoJournalIsNothingToRecover) {
  EXPECT_THAT(recover_set_aside(journal_), IsEmpty());
}

TEST_F(Layer, PagesOfAFileLeaveThePageCache) {
  constexpr long kTmpfsMagic = 0x01021994;
  struct statfs system {};
  ASSERT_EQ(::statfs(folder_.path().c_str(), &system), 0);
  const fs::path file = folder_.path() / "data";
  write_file_atomically(file, std::string(1 << 20, 'x'));
  const auto layer =
      open_layer(parse_layer("pages:" + file.string()), folder_.path(), folder_.path() / "tmp", journal_);
  read_file(file);
  EXPECT_EQ(layer->content().bytes, 1U << 20);
  layer->clear();
  if (system.f_type == kTmpfsMagic) {
    EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("stayed in the page cache"));
    GTEST_SKIP() << "files in memory have no other place to be: nothing to drop";
  }
  EXPECT_EQ(layer->content().bytes, 0U);
  EXPECT_EQ(layer->warmth(layer->content()), "");
  read_file(file);
  EXPECT_THAT(layer->warmth(layer->content()), HasSubstr("1048576 bytes"));
}

TEST_F(Layer, PagesOfAFolderAreThoseOfItsFiles) {
  write(cache_ / "a");
  EXPECT_EQ(resident_pages_of(cache_).files, 2U);
  EXPECT_THROW(open_layer(parse_layer("pages:" + (cache_ / "none").string()), folder_.path(),
                          folder_.path() / "tmp", journal_),
               Error);
  EXPECT_GT(all_cached_bytes(), 0U);
}

TEST(LayerSpec, IsANameOrSaysItsKind) {
  EXPECT_EQ(parse_layer("inductor").variable, "TORCHINDUCTOR_CACHE_DIR");
  EXPECT_EQ(parse_layer("env:A_1").variable, "A_1");
  EXPECT_EQ(parse_layer("folder:/x").path, "/x");
  EXPECT_EQ(parse_layer("pages").path, "");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(parse_layer("folder:~/.cache/x").path, "/home/me/.cache/x");
  for (const char* text : {"", "env:", "env:1A", "env:A=B", "folder:", "pages:", "indcutor"}) {
    EXPECT_THROW(parse_layer(text), Error) << text;
  }
}

}  // namespace
}  // namespace headroom
