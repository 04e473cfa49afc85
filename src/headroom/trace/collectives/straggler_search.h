// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/collectives/collective_calls.h"

namespace headroom::trace {

/// The iterations of one rank.
struct Iterations {
  std::int64_t count = 0;
  std::int64_t first_start_ns = 0;
  std::int64_t total_ns = 0;
};

/// A stream and a kernel: what may show a straggler.
struct StragglerCandidate {
  std::int64_t stream = -1;
  std::string kernel;
  std::int64_t iterations = 0;  ///< in which several ranks have it
  double spread = 0;            ///< mean over these of the deviation of its durations / mean iteration
};

/// The last long call of a rank in an iteration.
struct LongCall {
  std::int64_t iteration = -1;
  std::size_t rank = 0;  ///< index among those given
  const CollectiveCall* call = nullptr;
};

struct StragglerSearch {
  double mean_iteration_ns = 0;
  std::int64_t origin_ns = 0;                  ///< start of the first iteration of any rank
  std::vector<StragglerCandidate> candidates;  ///< by spread, largest first
  std::vector<LongCall> calls;                 ///< of the first candidate, by iteration and rank
  /// (start - origin) / mean iteration.
  double start_of(const LongCall& call) const {
    return static_cast<double>(call.call->start_ns - origin_ns) / mean_iteration_ns;
  }
};

/// As Holistic Trace Analysis looks for stragglers: of the communication kernels that take at least
/// `min_share` of the mean iteration, the last one per rank, stream, iteration and name; of these the
/// (stream, name) whose durations differ most between ranks (sample standard deviation, mean over
/// iterations). All ranks of a blocking collective end it together: who starts it last kept the others
/// waiting. Calls outside of all iterations (-1) take part only where no rank has steps.
StragglerSearch search_stragglers(std::span<const std::vector<CollectiveCall>> ranks,
                                  std::span<const Iterations> iterations, double min_share);

}  // namespace headroom::trace
