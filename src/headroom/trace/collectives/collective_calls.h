// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// One communication kernel of one rank.
struct CollectiveCall {
  std::uint32_t event = kNone;  ///< of its trace; kNone in what came through a table
  std::string group;            ///< the process group's name; "stream 20" where the file does not tell groups
  std::string group_ranks;      ///< "[0, 1]"; empty where the file does not say
  std::int64_t group_size = -1;
  std::int64_t index = 0;  ///< in its group on this rank, by start
  std::string collective;  ///< all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, ...
  std::string kernel;
  std::string dtype;
  double elements_in = -1, elements_out = -1;
  double bytes = -1;  ///< the size that bandwidths are said of (message_bytes); -1 unknown
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::int64_t iteration = -1;  ///< the number of the step that launched it (else: started in); -1 for none
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t exposed_ns = 0;  ///< of the duration: with no computing kernel of the device beside it
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// The communication kernels of a trace by start. What the kernel's own arguments do not say is taken from
/// the record_param_comms operator and the "nccl:..." annotation around its launch, unless that launched
/// several. Needs kLaunches, kOps, kOpArguments and kGpuArguments.
std::vector<CollectiveCall> collective_calls(const Trace& trace);
/// The same for who has launches(trace) and kernel_types(trace).
std::vector<CollectiveCall> collective_calls(const Trace& trace, std::span<const std::uint32_t> launch,
                                             std::span<const KernelType> types);

/// The same as a table for Analysis::combine, and back. Throws Error for a table of another form.
DataTable collective_table(const std::vector<CollectiveCall>& calls);
std::vector<CollectiveCall> collective_calls(const DataTable& table);
inline constexpr const char* kCollectiveTable = "collective_calls";

/// "all_reduce" for "allreduce", "allreduce_coalesced", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"...; empty
/// for a name that tells none ("ncclDevKernel_Generic").
std::string collective_name(std::string_view name);

/// The size S of nccl-tests' performance notes, in bytes: what every rank ends with for all_gather, begins
/// with for reduce_scatter, sends for the others. -1 where it is not known.
double message_bytes(const CollectiveCall& call);

}  // namespace headroom::trace
