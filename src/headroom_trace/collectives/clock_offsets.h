// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom::trace {

struct MatchedCollective;

/// Returns by rank how far its clock is ahead, ns. All parts of a collective end at about the same moment:
/// every two ranks of a group differ by the median difference of the ends of their collectives, and the
/// offsets agree best with all these differences at once. Only differences count, so the median of the ranks
/// that collectives connect is 0. A rank that always starts late keeps its lateness. 0 for a rank without
/// matched collectives.
std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched);

}  // namespace headroom::trace
