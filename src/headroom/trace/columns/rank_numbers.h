// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace_facts.h"

namespace headroom::trace {

/// The rank that a file's name tells: a number after "rank" ("rank-3", "rank_3", "rank3", "rank[3]"), or one
/// that begins or ends the name ("3.json", "trace_3.json.gz"). Nothing for numbers as long as times are, nor
/// for the process id in the names of PyTorch's trace handler ("host_27702.1695835535.pt.trace.json.gz").
std::optional<std::int64_t> rank_in_name(std::string_view path);

struct RankNumbers {
  std::vector<std::int64_t> ranks;  ///< of each trace; no two are equal
  std::vector<std::string> notes;   ///< what was assumed, a sentence each
};

/// The ranks of the traces of one job: what the reader found in a trace or in its name, else the lowest
/// numbers that are free, in the order of the files. Of several files that claim the same rank the first has
/// it.
RankNumbers rank_numbers(std::span<const TraceFacts> traces);

}  // namespace headroom::trace
