// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/critical_path/job_path.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// Time per step, without waits in collectives.
struct OpTime {
  std::string name;
  double device_ns = 0;
  double host_ns = 0;  ///< without nested activities
};

/// A critical path and its window: "ProfilerStep#3".
struct NamedPath {
  std::string window;
  RankPath path;
};

/// The input of Analysis::combine, filled in as needed.
struct RankSummary {
  std::int64_t steps = 0;
  Span recorded;
  StepShares shares;  ///< without findings only the length
  std::vector<CollectiveCall> calls;
  std::vector<Finding> findings;
  std::vector<OpTime> ops;  ///< longest first
  std::optional<NamedPath> path;
};

/// Summarises without findings. Needs kLaunches.
RankSummary rank_summary(const TraceIndex& index);
RankSummary rank_summary(const TraceIndex& index, TraceFindings found);

/// Throws Error if the result has no summary.
const RankSummary& summary_of(const RankResult& rank);
/// Reports the ranks that others wait for and their activity meanwhile; losses of all ranks (the smallest
/// counts); communication without waits; without matched collectives the findings of the rank that loses
/// most.
void combine_findings(std::span<const RankResult> ranks, std::size_t most, AnalysisResult& result);
/// Copies the calls, by rank.
std::vector<std::vector<CollectiveCall>> calls_of(std::span<const RankResult> ranks);

}  // namespace headroom::trace
