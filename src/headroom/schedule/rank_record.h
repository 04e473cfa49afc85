// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// What one rank measured of a metric.
struct RankColumn {
  std::int64_t pid = 0;
  std::vector<double> values;
  std::size_t warmup = 0;  ///< leading values that are kept, but not in the estimate
};

/// The record of a metric over ranks: the samples of each as those of a process, median and interval over
/// all (process_medians() has those of each rank). `divisor` takes the values to `unit`.
/// `in_rounds`: values at the same place of the columns are of one round. Nothing where a rank has no values.
std::optional<Record> rank_record(const Record& base, const std::string& metric, const std::string& unit,
                                  double divisor, std::vector<RankColumn> ranks, bool in_rounds);

}  // namespace headroom
