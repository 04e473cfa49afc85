// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The percentiles of the latency that have a record, in percent.
inline constexpr int kLatencyPercentiles[] = {75, 90, 95, 99};

/// The records of collectives as case_records() gives them, in their words, with the percentiles of each
/// latency behind it: "latency p75" to "latency p99", with their intervals and without samples.
std::vector<Record> collective_records(std::vector<Record> records);

}  // namespace headroom
