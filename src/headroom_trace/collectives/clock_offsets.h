// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom::trace {

struct MatchedCollective;

/// Clock leads by rank, ns, relative to the median of connected ranks; 0 without matched collectives. All
/// parts of a collective end almost together, so the median difference of ends estimates the offset of two
/// ranks; the result fits all pairs best. A rank that always starts late keeps its lateness.
std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched);

}  // namespace headroom::trace
