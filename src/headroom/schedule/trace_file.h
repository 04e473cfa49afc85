// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/schedule/plan.h"

namespace headroom {

/// Where in `folder` the trace of a case of the group `title` goes:
/// "FOLDER/gemv_D=1024_dtype=bf16.aten.json". The runner is named too where several have the experiment. What
/// file names are better without becomes '_'; a name that is too long is cut and gets a number that tells it
/// from its like.
std::string trace_file(const std::string& folder, const std::string& title, const PlannedCase& planned,
                       const std::vector<RunnerOffer>& offers);

}  // namespace headroom
