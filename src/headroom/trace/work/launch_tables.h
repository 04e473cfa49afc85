// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "headroom/trace/tables/data_table.h"
#include "headroom/trace/work/launch_calls.h"

namespace headroom::trace {

/// Median, p95, p99, max and total of the call, the delay (and signed), and the GPU work, by kind. Of a graph
/// the delay is that of its first piece of work, and the GPU work the sum.
DataTable launch_spread_table(const Launches& launches);
/// By function: its calls, what they cost, and how many are over the cutoffs (ns).
DataTable launch_functions_table(const Launches& launches, std::int64_t call_cutoff,
                                 std::int64_t delay_cutoff);
/// How much GPU work has a launch in the file.
DataTable launch_coverage_table(const Launches& launches);
/// The first `top` (0: all) graph launches, by time.
DataTable launch_graphs_table(const Launches& launches, std::size_t top);
/// Kernels shorter than their call, by name, most first.
DataTable short_kernels_table(const Launches& launches, std::size_t top);
/// The longest calls over the cutoff.
DataTable launch_outliers_table(const Launches& launches, std::int64_t call_cutoff, std::size_t top);
/// Every piece of GPU work that has a launch, by launch; the delay is its own, in a graph as elsewhere.
DataTable launch_each_table(const Launches& launches);

}  // namespace headroom::trace
