// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/rank_start.h"
#include "headroom/experiment/axis.h"

namespace headroom::cli {

/// Whether any of these experiments is one that ranks run: "all_reduce", "ddp.resnet18", "dispatch.add".
bool any_of_ranks(const std::vector<std::string>& names);
/// Whether all of them are.
bool all_of_ranks(const std::vector<std::string>& names);

/// The job that runs them, by `runners` (none: headroom-torch-rank): of the ranks that a launcher started, or
/// of as many as the values of the axes "ranks" and "mesh" need. Throws Error as settle_rank_programs().
RankStart ranks_of_run(const std::vector<std::string>& names, const std::vector<AxisRequest>& axes,
                       std::vector<std::string> runners, int threads);

}  // namespace headroom::cli
