// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "headroom_trace/analysis.h"

namespace headroom::trace {

/// Combines the findings of the ranks of a job: the ranks that the others wait for, with what they do
/// meanwhile; losses common to all ranks, once, by the smallest loss; communication without waits for other
/// ranks. Without matched collectives: the findings of the rank that loses most.
void combine_findings(std::span<const RankResult> ranks, std::size_t most, AnalysisResult& result);

}  // namespace headroom::trace
