// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct GitCommit {
  std::string sha;
  std::string subject;

  std::string short_sha() const { return sha.substr(0, 10); }
  std::string title() const { return short_sha() + " " + subject; }
};

/// Builds each commit in a separate tree under user_cache_folder(). Never touches the user's tree, index and
/// references.
class GitCommits {
 public:
  /// Throws Error without git, or if `folder` is in no repository.
  explicit GitCommits(const std::filesystem::path& folder);

  /// Of the user's working tree.
  const std::filesystem::path& top() const { return top_; }

  /// "A..B" or "A" (A..HEAD): the merge base, then the commits after it up to B, oldest first (of merges: the
  /// first parent). Throws Error for unknown commits or no merge base.
  std::vector<GitCommit> range(const std::string& text) const;

  /// Of the commit `name` and HEAD. Throws like range().
  GitCommit merge_base(const std::string& name) const;

  /// Changes of tracked files, as a commit without reference; nothing if there are none.
  std::optional<GitCommit> uncommitted() const;

  struct Tree {
    std::filesystem::path folder;  ///< where the caller's folder is in it
    std::filesystem::path top;
    std::string failure;  ///< of the build; empty if built
  };
  /// Checks the commit out, with submodules, and runs the shell line `build` there, unless an earlier call
  /// did. Keeps a repository's newest trees. Waits for another process building the same. Throws Error if it
  /// cannot be checked out, Interrupted if `is_interrupted`.
  Tree build(const GitCommit& commit, const std::string& build,
             const std::function<bool()>& is_interrupted) const;

 private:
  std::filesystem::path common_;   ///< git folder shared by all working trees
  std::filesystem::path top_;      ///< of the working tree
  std::filesystem::path prefix_;   ///< of the caller's folder, from the top
  std::filesystem::path kept_in_;  ///< one folder per commit and build line

  GitCommit commit_of(const std::string& name) const;
  GitCommit common_commit(const GitCommit& a, const GitCommit& b) const;
  void check_out(const GitCommit& commit, const std::filesystem::path& tree) const;
  void check_out_submodules(const std::filesystem::path& tree) const;
  void remove_old_trees() const;
};

}  // namespace headroom
