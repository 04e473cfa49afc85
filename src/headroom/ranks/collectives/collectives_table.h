// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/record/record.h"

namespace headroom {

/// What `headroom ddp --collectives` shows of its records: which is furthest from its limit; time, bandwidths
/// and skew of each collective and size, the percentiles with their intervals, and what was not measured.
Sheet collectives_sheet(const std::vector<Record>& records);

/// The median of each rank, a row for each collective, size and rank.
Table collectives_rank_table(const std::vector<Record>& records);

/// "2 ranks: an all_reduce alone takes 85.0 µs + 1.90 ms a MiB ...", of each that collective_lines() made.
std::string collective_lines_text(const std::vector<Record>& records);

}  // namespace headroom
