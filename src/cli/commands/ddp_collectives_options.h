// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp --collectives`.
struct CollectivesOptions {
  std::vector<std::string> ops;     ///< in the order in which they are measured
  std::vector<std::int64_t> sizes;  ///< bytes, as asked for
  std::vector<int> ranks;           ///< how many; those of one size are measured in the same rounds
  std::string dtype = "f32";
  bool limits = true;  ///< of the transport, in the same rounds
  StopRule stop;  ///< of one collective of one size; a sample is a call, its time that of the slowest rank
  RankPatience patience;
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
