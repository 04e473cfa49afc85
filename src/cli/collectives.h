// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/measuring/rank_start.h"
#include "headroom/console/command.h"

namespace headroom::cli {

/// What the user asked of `headroom ddp --collectives`; a sample is a call, its time that of the slowest
/// rank.
struct CollectivesOptions : RankOptions {
  std::vector<std::string> ops;     ///< in the order in which they are measured
  std::vector<std::int64_t> sizes;  ///< bytes, as asked for
  std::vector<int> ranks;           ///< how many; those of one size are measured in the same rounds
  std::string dtype = "f32";
};

/// Whether the arguments of `headroom ddp` ask for this.
bool asks_for_collectives(const Arguments& arguments);

/// Throws Error for values that do not parse or do not fit together; usage errors are printed.
CollectivesOptions parse_collectives_options(const Arguments& arguments);

}  // namespace headroom::cli
