// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What `headroom ddp --collectives` prints of its records: time, bandwidths and skew of each collective and
/// size, the percentiles with their intervals, and what was not measured.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string collectives_report(const std::vector<Record>& records, std::size_t width = 0);

/// The median of each rank, a row for each collective, size and rank.
std::string collectives_rank_report(const std::vector<Record>& records, std::size_t width = 0);

/// "2 ranks: an all_reduce alone takes 85.0 µs + 1.90 ms a MiB ...", of each that collective_lines() made.
std::string collective_lines_text(const std::vector<Record>& records);

}  // namespace headroom
