// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/collectives/collective_matching.h"
#include "headroom/trace/columns/trace_facts.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/report/file_analysis.h"

namespace headroom::trace {

/// What is kept of a rank while the traces are merged: its collectives, and where they are drawn.
struct RankClock {
  std::filesystem::path file;
  std::size_t place = 0;  ///< among the files or clocks that were given
  TraceFacts facts;
  std::int64_t rank = 0;
  std::int64_t base_ns = 0;    ///< the file's baseTimeNanoseconds
  std::int64_t offset_ns = 0;  ///< how far its clock is ahead
  std::size_t matched = 0;     ///< collectives that say so
  std::vector<CollectiveCall> calls;
  std::vector<Thread> threads;              ///< those that have calls
  std::vector<std::uint32_t> call_threads;  ///< by call: row of `threads`
  std::int32_t last_device = 0;             ///< the highest number of a device
};

/// The ranks of a job by their numbers, and their collectives, whose calls are those of `ranks`.
struct JobClocks {
  std::vector<RankClock> ranks;
  CollectiveMatches matches;
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
};

/// What a trace says of its clock, and what it is read with for that. The file is the caller's to fill in.
inline constexpr Needs kClockNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kGpuArguments;
RankClock rank_clock(const Trace& trace);

/// Numbers the ranks, and says by their collectives how far each clock is ahead of the median
/// (clock_offsets); a rank without matched ones keeps its clock.
JobClocks job_clocks(std::vector<RankClock> ranks);

/// The same of files, which are read for their collectives. Throws Error: a file that cannot be read.
JobClocks job_clocks(std::span<const std::filesystem::path> files, const FilesOptions& how);

}  // namespace headroom::trace
