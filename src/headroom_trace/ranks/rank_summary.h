// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/critical_path/job_path.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/findings/step_shares.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// Time of an operator (of the host or of the kernels that it launched) or of another host activity, per
/// step. Waits in collectives do not count.
struct OpTime {
  std::string name;
  double device_ns = 0;
  double host_ns = 0;  ///< without the activities inside it
};

/// The critical path of a rank, and the name of the window that it lies in ("ProfilerStep#3").
struct NamedPath {
  std::string window;
  RankPath path;
};

/// What one rank tells Analysis::combine. An analysis fills in what its combine reads.
struct RankSummary {
  std::int64_t steps = 0;  ///< 0: none in the trace
  Span recorded;           ///< steps; without steps device work
  StepShares shares;       ///< of the measured steps; without findings their length alone
  std::vector<CollectiveCall> calls;
  std::vector<Finding> findings;
  std::vector<OpTime> ops;  ///< longest first
  std::optional<NamedPath> path;
};

/// Steps, extent and collective calls of a trace. Needs kLaunches.
RankSummary rank_summary(const TraceIndex& index);
/// Same with its findings, operators and shares.
RankSummary rank_summary(const TraceIndex& index, TraceFindings found);

/// Throws Error if the result has no summary.
const RankSummary& summary_of(const RankResult& rank);
/// Copies of the calls, by rank.
std::vector<std::vector<CollectiveCall>> calls_of(std::span<const RankResult> ranks);

}  // namespace headroom::trace
