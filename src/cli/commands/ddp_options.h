// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/schedule/ddp_plan.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp`.
struct DdpOptions {
  bool list = false, per_rank = false;
  DdpSweep sweep;
  std::int64_t batch_size = 32;  ///< of each rank
  std::int64_t image_size = 64;  ///< pixels a side
  std::string backend = "gloo";  ///< by which ranks exchange gradients, or "nccl"
  std::uint64_t seed = 1;
  bool limits = true;  ///< of the machine, in the same rounds
  int warmup = 5;  ///< iterations of each step before those that count
  StopRule stop;   ///< of all steps of a model together
  RankPatience patience;
  RankStart start;
  std::string json;              ///< the report of PyTorch's benchmark
  std::string records, oss;      ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
DdpOptions parse_ddp_options(const Arguments& arguments);

}  // namespace headroom::cli
