// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "headroom/trace/analysis.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// Adds what is found in a trace to a result: sentences to the answer, the table `findings`, and what
/// combine_findings wants of a rank. `work` is device_work(trace); `most`: sentences of how many findings; 0:
/// of all.
/// With `without` what a step would take without what is called so stands before them (add_without).
void add_findings(const Trace& trace, DeviceWork work, std::size_t most, AnalysisResult& result,
                  const std::string& without = "");

/// The findings of a job from those of its ranks: the rank that the others wait for, with what it does
/// meanwhile; what all ranks lose, once, by as much as the one that loses least; of communication what is no
/// wait for others. Without collectives that match, ranks wait for nobody: what the one that loses most does.
void combine_findings(std::span<const RankResult> ranks, std::size_t most, AnalysisResult& result);

/// What the analyses that call add_findings read of a trace at least.
inline constexpr Needs kFindingNeeds = Needs::kLaunches | Needs::kOpEvents | Needs::kSyncs;

}  // namespace headroom::trace
