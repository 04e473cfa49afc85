// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/command/git_commits.h"
#include "headroom/console/option_table.h"

namespace headroom::cli {

struct CommitOptions {
  std::string range;  ///< empty: no commits are compared
  std::string build;  ///< shell line
  bool each = false, working_tree = false;
};

/// `what` runs at each commit: "the command".
void declare_commits(OptionTable& table, CommitOptions& options, const std::string& what);

struct BuiltCommit {
  GitCommit commit;
  std::filesystem::path folder;  ///< where the current folder is in its tree
};

/// Builds the commits of the range, with a message for each. Throws Error without a range but with other
/// options, or if the first or the last does not build; leaves out others. Throws Interrupted.
std::vector<BuiltCommit> build_commits(const CommitOptions& options);

}  // namespace headroom::cli
