// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/record/record.h"

namespace headroom {

/// What `headroom ddp` shows of its records: how well each model scales; for each model and bucket size the
/// percentiles that PyTorch's DDP benchmark prints, how training scales with the ranks and what communication
/// costs, the parts of an iteration, the buckets of the most ranks, and what an all-reduce costs by its size;
/// then what was not measured, and notes.
Sheet ddp_sheet(const std::vector<Record>& records);

/// The median of each rank, a row for each step and rank.
Table ddp_rank_table(const std::vector<Record>& records);

}  // namespace headroom
