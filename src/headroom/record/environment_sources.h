// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/environment.h"

namespace headroom {

/// Calls facts.add(name, value) for what was measured and what it was linked with: versions and revisions of
/// dependencies, then the repository, the branch and the revision. Values may be empty.
template <typename Facts>
void add_sources(Facts& facts, const Environment& environment) {
  for (const auto& [name, dependency] : environment.dependencies) {
    facts.add(name + " version", dependency.version);
    facts.add(name + " revision", dependency.sha);
  }
  facts.add("git repository", environment.git_repo);
  facts.add("git branch", environment.git_branch);
  facts.add("git revision", environment.git_sha);
}

}  // namespace headroom
