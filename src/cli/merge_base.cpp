// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/command/git_commits.h"
#include "headroom/console/interrupt.h"

namespace headroom::cli {

/// `headroom --merge-base COMMIT BUILD`, for `pytest --headroom-git`: builds the merge base of COMMIT and
/// HEAD, and prints where it is.
ExitCode print_merge_base(const Arguments& words) {
  if (words.size() != 2) throw Error("--merge-base takes a commit and a shell line that builds it");
  const GitCommits repository(".");
  const GitCommit base = repository.merge_base(words[0]);
  const GitCommits::Tree tree = repository.build(base, words[1], [] { return interrupt_count() > 0; });
  if (!tree.failure.empty()) throw Error(fmt::format("{} does not build: {}", base.title(), tree.failure));
  const Json json{{"commit", base.short_sha()},       {"subject", base.subject},
                  {"folder", tree.folder.string()},   {"tree", tree.top.string()},
                  {"top", repository.top().string()}, {"has_changes", repository.uncommitted().has_value()}};
  std::puts(dump_json(json).c_str());
  return ExitCode::kSuccess;
}

}  // namespace headroom::cli
