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

struct RankClock {
  std::filesystem::path file;
  std::size_t place = 0;  ///< index of the given file or clock
  TraceFacts facts;
  std::int64_t rank = 0;
  std::int64_t base_ns = 0;    ///< baseTimeNanoseconds
  std::int64_t offset_ns = 0;  ///< lead of its clock
  std::size_t matched = 0;
  std::vector<CollectiveCall> calls;
  std::vector<Thread> threads;              ///< with calls
  std::vector<std::uint32_t> call_threads;  ///< by call: index in `threads`
  std::int32_t last_device = 0;             ///< highest device number
  std::vector<std::string> impossible;
};

/// The ranks by number. `matches` points to the calls of `ranks`.
struct JobClocks {
  std::vector<RankClock> ranks;
  CollectiveMatches matches;
  std::vector<std::string> notes;
};

/// The trace must be read with kClockNeeds. The caller sets `file`.
inline constexpr Needs kClockNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kGpuArguments;
RankClock rank_clock(const Trace& trace);

/// Each clock's lead over the median (clock_offsets). A rank without matched collectives keeps its clock.
JobClocks job_clocks(std::vector<RankClock> ranks);

/// Throws Error for an unreadable file.
JobClocks job_clocks(std::span<const std::filesystem::path> files, const FilesOptions& how);

struct MergedRank {
  TraceFacts facts;  ///< of the file
  std::int64_t rank = 0;
  std::int64_t moved_ns = 0;         ///< added to its times
  std::uint64_t collectives = 0;     ///< matched
  std::uint64_t events_written = 0;  ///< without process names
};

struct MergedTrace {
  std::vector<MergedRank> ranks;  ///< by number
  std::uint64_t arrows = 0;       ///< two events each
  std::vector<std::string> notes;
};

/// Writes the ranks of a job as one Chrome trace (as convert_to_chrome_trace), rank after rank, with clocks
/// aligned by collectives (clock_offsets) and baseTimeNanoseconds. Process ids, devices, correlations and
/// flow ids become unique; process names begin with "rank N". Flows of the category "collective" lead from
/// the last rank at a collective to the others. Other members of a file go to the member "rank N",
/// deviceProperties to one list. Reads each file twice; memory follows the collectives and the traces read in
/// parallel. Throws Error: fewer than two files, a file unreadable or changed between the passes, clocks
/// decades apart.
MergedTrace merge_traces(std::span<const std::filesystem::path> files, const WriteText& write,
                         const FilesOptions& how = {});

DataTable clock_table(const MergedTrace& merged);

}  // namespace headroom::trace
