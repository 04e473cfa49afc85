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

/// What a collective costs by its size, alpha + beta * bytes, as two records for each collective, runner and
/// rank count that has latencies of several sizes among `collectives`, with the worst error of the line and
/// how many sizes made it. Their limits are those of the line through the limits of these sizes.
std::vector<Record> collective_lines(const std::vector<Record>& collectives);

}  // namespace headroom
