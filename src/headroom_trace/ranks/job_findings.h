// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "headroom_trace/analysis.h"

namespace headroom::trace {

/// Reports the ranks that others wait for and their activity meanwhile; losses of all ranks (the smallest
/// counts); communication without waits. Without matched collectives: the findings of the rank that loses
/// most.
void combine_findings(std::span<const RankResult> ranks, std::size_t most, AnalysisResult& result);

}  // namespace headroom::trace
