// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/readers/convert.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// What a merge keeps of a rank: its collectives and where to draw them.
struct RankClock {
  std::filesystem::path file;
  std::size_t place = 0;  ///< index among the given files or clocks
  TraceFacts facts;
  std::int64_t rank = 0;
  std::int64_t base_ns = 0;    ///< the file's baseTimeNanoseconds
  std::int64_t offset_ns = 0;  ///< how far its clock is ahead
  std::size_t matched = 0;     ///< matched collectives behind that offset
  std::vector<CollectiveCall> calls;
  std::vector<Thread> threads;              ///< those that have calls
  std::vector<std::uint32_t> call_threads;  ///< by call: row of `threads`
  std::int32_t last_device = 0;             ///< the highest number of a device
  std::vector<std::string> impossible;      ///< impossible_events_kept
};

/// The ranks of a job by number, and their collectives, which point to the calls of `ranks`.
struct JobClocks {
  std::vector<RankClock> ranks;
  CollectiveMatches matches;
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
};

/// Returns the clock of a trace, which must be read with kClockNeeds. The caller fills in the file.
inline constexpr Needs kClockNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kGpuArguments;
RankClock rank_clock(const Trace& trace);

/// Numbers the ranks and finds by their collectives how far each clock is ahead of the median
/// (clock_offsets). A rank without matched collectives keeps its clock.
JobClocks job_clocks(std::vector<RankClock> ranks);

/// Same, for files, which are read for their collectives. Throws Error for an unreadable file.
JobClocks job_clocks(std::span<const std::filesystem::path> files, const FilesOptions& how);

/// A rank of a merged trace.
struct MergedRank {
  TraceFacts facts;  ///< of its file; the problems were repaired or left out
  std::int64_t rank = 0;
  std::int64_t moved_ns = 0;         ///< added to its times: minus its clock's lead
  std::uint64_t collectives = 0;     ///< that say so
  std::uint64_t events_written = 0;  ///< without those naming its processes
};

struct MergedTrace {
  std::vector<MergedRank> ranks;   ///< by their numbers
  std::uint64_t arrows = 0;        ///< two events each
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
};

/// Writes the traces of the ranks of one job as one Chrome trace, in the form of convert_to_chrome_trace,
/// rank after rank. Aligns the clocks: moves each rank's times by the offset of its collectives from the
/// median rank's (clock_offsets), and by the differences of baseTimeNanoseconds. Shifts process ids, devices,
/// correlations and flow ids so that no two ranks share one; process names begin with "rank N". An arrow (a
/// flow of the category "collective") leads from the last rank to arrive at a collective to each of the
/// others. Other members of a rank's file become the member "rank N"; deviceProperties become one list. Reads
/// each file twice; memory follows the collectives, and in the first pass the traces read in parallel. Throws
/// Error: fewer than two files, a file that is unreadable or changes between the passes, clocks decades
/// apart.
MergedTrace merge_traces(std::span<const std::filesystem::path> files, const WriteText& write,
                         const FilesOptions& how = {});

/// A row per rank: clock shift and number of collectives behind it.
DataTable clock_table(const MergedTrace& merged);

}  // namespace headroom::trace
