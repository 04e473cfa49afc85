// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json.h"
#include "headroom_trace/ranks/rank_summary.h"

namespace headroom::trace {

/// Converts for another process of the same version. Throws JsonError or Error for invalid input.
Json rank_summary_json(const RankSummary& summary);
RankSummary rank_summary_from(const Json& json);

}  // namespace headroom::trace
