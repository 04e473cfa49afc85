// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What `headroom ddp --collectives` prints of its records: time, bandwidths and skew of each collective and
/// size, the percentiles with their intervals, and what was not measured.
std::string collectives_report(const std::vector<Record>& records);

/// The median of each rank, a row for each collective, size and rank.
std::string collectives_rank_report(const std::vector<Record>& records);

}  // namespace headroom
