// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/rank_start.h"
#include "headroom/schedule/collectives_run.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp --collectives`.
struct CollectivesOptions {
  std::vector<CollectiveSetup> plan;  ///< in the order in which they are measured
  CollectiveLimits limits;
  RankStart start;
  bool per_rank = false;
  std::uint64_t seed = 1;
  std::string json, oss;         ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// Whether the arguments of `headroom ddp` ask for this.
bool asks_for_collectives(const Arguments& arguments);

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
CollectivesOptions parse_collectives_options(const Arguments& arguments);

}  // namespace headroom::cli
