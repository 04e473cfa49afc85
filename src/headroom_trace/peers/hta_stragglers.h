// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

struct Iterations {
  std::int64_t count = 0;
  std::int64_t first_start_ns = 0;
  std::int64_t total_ns = 0;
};

struct HtaStragglerCandidate {
  std::int64_t stream = -1;
  std::string kernel;
  std::int64_t iterations = 0;  ///< with several ranks
  double spread = 0;            ///< mean deviation of durations / mean iteration
};

struct HtaLongCall {
  std::int64_t iteration = -1;
  std::size_t rank = 0;  ///< index in `ranks`
  const CollectiveCall* call = nullptr;
};

struct HtaStragglerSearch {
  double mean_iteration_ns = 0;
  std::int64_t origin_ns = 0;                     ///< of the first iteration of any rank
  std::vector<HtaStragglerCandidate> candidates;  ///< by spread, largest first
  std::vector<HtaLongCall> calls;                 ///< of the first candidate, by iteration and rank
  /// In mean iterations.
  double start_of(const HtaLongCall& call) const {
    return static_cast<double>(call.call->start_ns - origin_ns) / mean_iteration_ns;
  }
};

/// As Holistic Trace Analysis: of the last communication kernels of at least `min_share` of the mean
/// iteration per rank, stream, iteration and name, takes the (stream, name) whose durations differ most
/// between ranks (sample standard deviation, mean over iterations). A blocking collective ends on all ranks
/// together, so the last to start delayed the others. Calls outside all iterations (-1) count only if no rank
/// has steps.
HtaStragglerSearch hta_straggler_search(std::span<const std::vector<CollectiveCall>> ranks,
                                        std::span<const Iterations> iterations, double min_share);

/// By rank: starts of the chosen kernel, lateness by raw and aligned clocks, and how often it was last.
struct HtaLateStarts {
  std::vector<double> starts, late_ns, aligned_ns;
  std::int64_t last = 0;
};

std::vector<HtaLateStarts> hta_late_starts(const HtaStragglerSearch& search, std::size_t ranks);

DataTable hta_candidate_table(const HtaStragglerSearch& search);
DataTable hta_lateness_table(const std::vector<HtaLateStarts>& late, std::span<const RankResult> ranks);
DataTable hta_start_table(const HtaStragglerSearch& search, std::span<const RankResult> ranks);

}  // namespace headroom::trace
