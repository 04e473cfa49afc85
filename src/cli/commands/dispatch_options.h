// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/runner/dispatch_setup.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// What the user asked of `headroom dispatch`.
struct DispatchOptions {
  std::vector<std::string> ops;  ///< empty: the default panel
  bool list = false, per_rank = false, update_expect = false;
  DispatchSetup setup;
  std::string backend = "gloo";  ///< or "nccl": tensors on GPUs
  std::uint64_t seed = 1;
  StopRule stop;  ///< of one operator; a sample is a cycle, the goal is the half-width of the hit's median
  RankPatience patience;
  RankStart start;
  std::string expect;            ///< file of expectations, "pytorch" for the shipped ones; empty: none
  std::string json, oss;         ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
DispatchOptions parse_dispatch_options(const Arguments& arguments);

}  // namespace headroom::cli
