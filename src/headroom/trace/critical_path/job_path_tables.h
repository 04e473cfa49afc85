// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/analysis.h"
#include "headroom/trace/critical_path/job_path.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// The path of one rank in its window as tables for Analysis::combine.
std::vector<DataTable> rank_path_tables(const RankPath& path, const std::string& window);
/// The same back, and the name of the window. Throws Error where the result has none.
RankPath stored_rank_path(const AnalysisResult& result);
std::string stored_window(const AnalysisResult& result);

/// A row for each stretch of the job's path, in order; of more than `top` (0: all) the longest.
DataTable job_path_table(std::span<const JobStretch> path, std::span<const RankResult> ranks,
                         std::size_t top);
/// Its time by rank and class, the most first.
DataTable job_class_table(std::span<const JobStretch> path, std::span<const RankResult> ranks);
/// A sentence: how long the path is, and where most of it is spent. The path has a stretch.
std::string job_path_answer(std::span<const JobStretch> path, std::span<const RankResult> ranks);
std::int64_t length_ns(std::span<const JobStretch> path);

}  // namespace headroom::trace
