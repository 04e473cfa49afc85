// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// The measurable collectives, named as in traces.
inline constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "all_to_all"};

/// Rounds `bytes`, the size of nccl-tests (output of all_gather, input of the others), down to whole
/// elements, equally many per rank if the operation divides them, but at least one each. Throws Error for an
/// unsupported dtype.
std::int64_t collective_bytes(std::string_view op, std::int64_t bytes, const std::string& dtype, int ranks);

/// Returns the minimum bytes that a rank sends and receives: the mean over ranks if every part of a sum is
/// reduced by one of them (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
/// workstations", 2009). `bytes` are those of collective_bytes().
double exchanged_bytes(std::string_view op, std::int64_t bytes, int ranks);

/// Returns an upper bound of a rank's memory for so many bytes, backend included.
std::int64_t collective_footprint(std::int64_t bytes);

/// Latency percentiles with a record of their own.
inline constexpr int kLatencyPercentiles[] = {75, 90, 95, 99};

/// Renames case_records() to the metrics of collectives and adds percentiles behind each latency, "latency
/// p75" to "latency p99", with intervals and without samples.
std::vector<Record> collective_records(std::vector<Record> records);

/// Fits alpha + beta * bytes as two records for each collective, runner and rank count with latencies of
/// several sizes, with the worst error of the line and the number of sizes. Their limits are those of the
/// line through the limits of these sizes.
std::vector<Record> collective_lines(const std::vector<Record>& collectives);

/// Returns the view of `headroom ddp --collectives`: the collective furthest from its limit; time, bandwidths
/// and skew of each collective and size; percentiles with intervals; what was not measured.
Sheet collectives_sheet(const std::vector<Record>& records);

/// Returns the median of each rank, a row per collective, size and rank.
Table collectives_rank_table(const std::vector<Record>& records);

/// "2 ranks: an all_reduce alone takes 85.0 µs + 1.90 ms a MiB ...", a sentence per line of
/// collective_lines().
std::string collective_lines_text(const std::vector<Record>& records);

}  // namespace headroom
