// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// The collectives that can be measured, by the names that traces have for them.
inline constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "all_to_all"};

/// What can be sent of `bytes`, the size of nccl-tests (what every rank ends with for all_gather, begins with
/// for the others): a whole number of elements, the same for each rank where each has a part; one at least.
/// Throws Error for a dtype that collectives are not measured with.
std::int64_t collective_bytes(std::string_view op, std::int64_t bytes, const std::string& dtype, int ranks);

/// Bytes that a rank has to send to others, and to receive, at the least: the mean of all ranks, where every
/// rank's part of a sum is made by one of them (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms
/// for clusters of workstations", 2009). `bytes` as collective_bytes() gives them.
double exchanged_bytes(std::string_view op, std::int64_t bytes, int ranks);

/// Memory that a rank takes for so many bytes, what the backend takes for itself included, at most.
std::int64_t collective_footprint(std::int64_t bytes);

}  // namespace headroom
