// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/collectives/collective_matching.h"
#include "headroom/trace/columns/trace_facts.h"
#include "headroom/trace/report/file_analysis.h"

namespace headroom::trace {

/// What is kept of a rank while the traces are merged: its collectives, and where they are drawn.
struct RankClock {
  std::filesystem::path file;
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

/// Reads the files for their collectives, and says by these how far each clock is ahead of the median
/// (clock_offsets); a rank without matched ones keeps its clock. Throws Error: a file that cannot be read.
JobClocks job_clocks(std::span<const std::filesystem::path> files, const FilesOptions& how);

}  // namespace headroom::trace
