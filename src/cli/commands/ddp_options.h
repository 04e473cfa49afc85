// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cli/shared/command.h"
#include "cli/shared/rank_options.h"
#include "headroom/ranks/ddp/ddp_plan.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp`; a sample is a round of two iterations. Its `json` is for --records.
struct DdpOptions : RankOptions {
  DdpSweep sweep;
  std::int64_t batch_size = 32;  ///< of each rank
  std::int64_t image_size = 64;  ///< pixels a side
  int warmup = 5;                ///< iterations of each step before those that count
  std::string report;            ///< file of PyTorch's benchmark ("-": standard output); empty: none
};

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
DdpOptions parse_ddp_options(const Arguments& arguments);

}  // namespace headroom::cli
