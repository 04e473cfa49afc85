// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/commits.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"

namespace headroom::cli {
namespace {

std::vector<GitCommit> commits_to_compare(const GitCommits& repository, const CommitOptions& options) {
  std::vector<GitCommit> commits = repository.range(options.range);
  std::optional<GitCommit> uncommitted = repository.uncommitted();
  if (options.working_tree) {
    if (!uncommitted) throw Error("--worktree: no tracked file has uncommitted changes");
    if (!options.each) commits.resize(1);
    commits.push_back(std::move(*uncommitted));
    return commits;
  }
  if (commits.size() == 1) {
    throw Error(fmt::format("--git {}: no commit after {}; --worktree compares uncommitted changes with it",
                            options.range, commits.front().short_sha()));
  }
  if (!options.each) commits.erase(commits.begin() + 1, commits.end() - 1);
  if (uncommitted) {
    print_message("uncommitted changes are left out; --worktree measures them");
  }
  return commits;
}

}  // namespace

void declare_commits(OptionTable& table, CommitOptions& options, const std::string& what) {
  table
      .add_option(
          "--git", options.range,
          "run " + what + " at the merge base and the end of these commits: main..HEAD, or main for the same")
      .type_name("RANGE");
  table.add_option("--build", options.build, "shell line that builds a commit, in a tree of its own; kept")
      .type_name("COMMAND");
  table.add_flag("--each", options.each, "with --git: all commits between, too");
  table.add_flag(
      "--worktree", options.working_tree,
      "with --git: the uncommitted changes in place of the last commit; --git HEAD compares them with it");
}

std::vector<BuiltCommit> build_commits(const CommitOptions& options) {
  if (options.range.empty()) {
    if (options.build.empty() && !options.each && !options.working_tree) return {};
    throw Error("--build, --each and --worktree need --git: give the commits to compare, such as --git main");
  }
  const GitCommits repository(".");
  std::vector<GitCommit> commits = commits_to_compare(repository, options);
  std::vector<BuiltCommit> built;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    BuiltCommit one{std::move(commits[i]), {}};
    print_message("[{}/{}] {}", i + 1, commits.size(), one.commit.title());
    GitCommits::Tree tree = repository.build(one.commit, options.build, [] { return interrupt_count() > 0; });
    one.folder = std::move(tree.folder);
    if (!tree.failure.empty()) {
      const std::string failure = fmt::format("{} does not build: {}", one.commit.short_sha(), tree.failure);
      if (i == 0 || i + 1 == commits.size()) throw Error(failure);
      print_message("left out: {}", failure);
    } else {
      built.push_back(std::move(one));
    }
  }
  return built;
}

}  // namespace headroom::cli
