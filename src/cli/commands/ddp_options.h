// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/schedule/ddp_plan.h"
#include "headroom/schedule/ddp_run.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp`.
struct DdpOptions {
  bool list = false, per_rank = false;
  DdpSweep sweep;
  DdpLimits limits;
  RankStart start;
  std::string json;              ///< the report of PyTorch's benchmark
  std::string records, oss;      ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
DdpOptions parse_ddp_options(const Arguments& arguments);

}  // namespace headroom::cli
