// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/collectives_run.h"

namespace headroom {

/// The records of one collective of one size: "latency" (the headline; of a call until the slowest rank has
/// it, in us), its percentiles as "latency p75" to "latency p99" with their intervals and without samples,
/// "algbw" and "busbw" (GB/s, by nccl-tests' formulas), "rank latency" with the samples of each rank, and
/// "skew" (the slowest rank less the fastest, call by call). `library` is what ran ("libtorch 1.13.1"). One
/// record with the reason where nothing was measured.
std::vector<Record> collective_records(const CollectiveResult& result, const std::string& library,
                                       const std::shared_ptr<const Environment>& environment);

/// The percentiles of the latency that have a record, in percent.
inline constexpr int kLatencyPercentiles[] = {75, 90, 95, 99};

}  // namespace headroom
