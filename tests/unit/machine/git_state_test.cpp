// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/git_state.h"

#include <gtest/gtest.h>

#include "file_tree.h"

namespace headroom {
namespace {

const std::string kSha = "0123456789abcdef0123456789abcdef01234567";
const std::string kOther = "89abcdef0123456789abcdef0123456789abcdef";

TEST(GitState, BranchCommitAndRemoteFromASubfolder) {
  FileTree tree;
  tree.file(".git/HEAD", "ref: refs/heads/feature/fast\n").file(".git/refs/heads/feature/fast", kSha + "\n");
  tree.file(".git/config",
            "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://host/a/b\n"
            "[remote \"origin\"]\n\tfetch = +refs/*\n\turl = git@host.example:owner/name.git\n");
  tree.file("src/deep/file.cpp", "");
  const GitState state = read_git_state(tree.root() / "src/deep");
  EXPECT_EQ(state.sha, kSha);
  EXPECT_EQ(state.branch, "feature/fast");
  EXPECT_EQ(state.repo, "owner/name");
}

TEST(GitState, PackedReferences) {
  FileTree tree;
  tree.file(".git/HEAD", "ref: refs/heads/main\n");
  tree.file(".git/packed-refs",
            "# pack-refs with: peeled fully-peeled sorted\n" + kOther + " refs/heads/main2\n" + kOther +
                " refs/remotes/origin/refs/heads/main\n" + kSha + " refs/heads/main\n^" + kOther + "\n");
  EXPECT_EQ(read_git_state(tree.root()).sha, kSha);
  tree.file(".git/refs/heads/main", kOther + "\n");
  EXPECT_EQ(read_git_state(tree.root()).sha, kOther) << "the loose one is newer";
}

TEST(GitState, DetachedHeadHasNoBranch) {
  FileTree tree;
  tree.file(".git/HEAD", kSha + "\n");
  const GitState state = read_git_state(tree.root());
  EXPECT_EQ(state.sha, kSha);
  EXPECT_EQ(state.branch, "");
}

TEST(GitState, LinkedWorkingTreesAndSubmodules) {
  FileTree tree;
  tree.file("main/.git/config", "[remote \"origin\"]\nurl = https://user:secret@host/o/n.git\n");
  tree.file("main/.git/refs/heads/side", kSha + "\n");
  tree.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
  tree.file("main/.git/worktrees/w/commondir", "../..\n");
  tree.file("linked/.git", "gitdir: " + (tree.root() / "main/.git/worktrees/w").string() + "\n");
  const GitState linked = read_git_state(tree.root() / "linked");
  EXPECT_EQ(linked.sha, kSha);
  EXPECT_EQ(linked.branch, "side");
  EXPECT_EQ(linked.repo, "o/n");

  tree.file("main/.git/modules/sub/HEAD", kOther + "\n");
  tree.file("main/sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_EQ(read_git_state(tree.root() / "main/sub").sha, kOther);
}

TEST(GitState, WhatIsNotThereIsEmpty) {
  FileTree tree;
  EXPECT_EQ(read_git_state("/proc").sha, "") << "outside git";
  EXPECT_EQ(read_git_state("/no/such/folder").branch, "");
  tree.file("new/.git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(read_git_state(tree.root() / "new").branch, "main");
  EXPECT_EQ(read_git_state(tree.root() / "new").sha, "") << "before the first commit";
  tree.file("odd/.git/HEAD", "nonsense\n");
  EXPECT_EQ(read_git_state(tree.root() / "odd").sha, "");
  tree.file("reftable/.git/HEAD", "ref: refs/heads/.invalid\n");
  EXPECT_EQ(read_git_state(tree.root() / "reftable").branch, "");
  tree.file("broken/.git", "not a link\n");
  EXPECT_EQ(read_git_state(tree.root() / "broken").branch, "");
}

TEST(GitState, RepositoryNamesHoldNoSecret) {
  EXPECT_EQ(repository_name("https://user:secret@host.example/owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("https://host.example/owner/name/"), "owner/name");
  EXPECT_EQ(repository_name("ssh://git@host.example:22/owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("git@host.example:owner/name.git"), "owner/name");
  EXPECT_EQ(repository_name("/srv/git/name.git"), "name");
  EXPECT_EQ(repository_name("file:///srv/git/name.git/"), "name");
  EXPECT_EQ(repository_name("../name"), "name");
  EXPECT_EQ(repository_name("https://user:secret@host.example"), "");
  EXPECT_EQ(repository_name(""), "");
}

TEST(GitState, OriginAddress) {
  EXPECT_EQ(origin_address("[remote \"origin\"]\n\turl = \"a b\"\n"), "a b");
  EXPECT_EQ(origin_address("[remote \"origin\"]\n\tpushurl = x\n[branch \"main\"]\n\turl = y\n"), "");
  EXPECT_EQ(origin_address(""), "");
}

}  // namespace
}  // namespace headroom
