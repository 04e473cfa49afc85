// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What `headroom ddp` prints of its records: for each model and bucket size the percentiles that PyTorch's
/// DDP benchmark prints, how training scales with the ranks and what communication costs, the parts of an
/// iteration, the buckets of the most ranks, and what an all-reduce costs by its size; then what was not
/// measured, and notes.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string ddp_table(const std::vector<Record>& records, std::size_t width = 0);

/// The median of each rank, a row for each step and rank.
std::string ddp_rank_table(const std::vector<Record>& records, std::size_t width = 0);

}  // namespace headroom
