// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Named as in traces.
inline constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "all_to_all"};

/// Rounds nccl-tests' size (output of all_gather, input of the others) down to whole elements, at least one,
/// equally many per rank where divided. Throws Error for an unsupported dtype.
std::int64_t collective_bytes(std::string_view op, std::int64_t bytes, const std::string& dtype, int ranks);

/// Minimum bytes that a rank sends and receives (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms
/// for clusters of workstations", 2009).
double exchanged_bytes(std::string_view op, std::int64_t bytes, int ranks);

/// Upper bound of a rank's memory, backend included.
std::int64_t collective_footprint(std::int64_t bytes);

inline constexpr int kLatencyPercentiles[] = {75, 90, 95, 99};

/// Converts case_records() and adds "latency p75" to "latency p99" without samples.
std::vector<Record> collective_records(std::vector<Record> records);

/// Fits alpha + beta * bytes for each collective, runner and rank count with several sizes, as two records;
/// their limits are the line through the sizes' limits.
std::vector<Record> collective_lines(const std::vector<Record>& collectives);

View collectives_view(const std::vector<Record>& records);

Table collectives_rank_table(const std::vector<Record>& records);

/// "2 ranks: an all_reduce alone takes 85.0 µs + 1.90 ms a MiB ...", a line per sentence.
std::string collective_lines_text(const std::vector<Record>& records);

}  // namespace headroom
