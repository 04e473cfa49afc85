// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace_facts.h"
#include "headroom/trace/readers/convert.h"
#include "headroom/trace/report/file_analysis.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// One of the ranks in a merged trace.
struct MergedRank {
  TraceFacts facts;  ///< of its file: its problems are what was repaired or left out
  std::int64_t rank = 0;
  std::int64_t moved_ns = 0;         ///< what was added to its times: minus how far its clock is ahead
  std::uint64_t collectives = 0;     ///< that say so
  std::uint64_t events_written = 0;  ///< without those that name its processes
};

struct MergedTrace {
  std::vector<MergedRank> ranks;   ///< by their numbers
  std::uint64_t arrows = 0;        ///< each two events
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
};

/// Writes the traces of the ranks of one job as one Chrome trace, events and values as
/// convert_to_chrome_trace does. The events of a rank come after those of the rank before. Clocks are
/// aligned: each rank's times are moved by how far its collectives end from the median rank's
/// (clock_offsets), and by the differences of baseTimeNanoseconds. Process ids, devices, correlations and the
/// ids of flows are moved so that no two ranks share one; process names begin with "rank N". An arrow (a flow
/// of the category "collective") leads from the last rank to come to a collective to each of the others. What
/// stands beside the events of a rank becomes the member "rank N"; deviceProperties of all are one list. Each
/// file is read twice; memory follows the collectives, and in the first reading the traces that are read side
/// by side. Throws Error: fewer than two files, one that cannot be read or has changed between the readings,
/// clocks that are decades apart.
MergedTrace merge_traces(std::span<const std::filesystem::path> files, const WriteText& write,
                         const FilesOptions& how = {});

/// A row for each rank: how far its clock was moved, by how many collectives.
DataTable clock_table(const MergedTrace& merged);

}  // namespace headroom::trace
