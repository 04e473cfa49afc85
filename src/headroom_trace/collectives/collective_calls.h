// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// One communication kernel of one rank.
struct CollectiveCall {
  std::uint32_t event = kNone;  ///< row of Trace::events; kNone if it comes from another process
  std::string group;            ///< name of the process group; "stream 20" if the file has no groups
  std::string group_ranks;      ///< "[0, 1]"; empty where the file does not say
  std::int64_t group_size = -1;
  std::int64_t index = 0;  ///< in its group on this rank, by start
  std::string collective;  ///< all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, ...
  std::string kernel;
  std::string dtype;
  double elements_in = -1, elements_out = -1;
  double bytes = -1;  ///< size for bandwidths (message_bytes); -1 unknown
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::int64_t iteration = -1;  ///< the number of the step that launched it (else: started in); -1 for none
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t exposed_ns = 0;  ///< part of the duration without a computing kernel on the device
  /// From the end of the computing launched before it to its start; 0 if that runs on. If it is long, the
  /// call waited for its stream, or was launched later.
  std::int64_t ready_for_ns = 0;
  /// Its last part without a computing kernel, which may wait for it. 0 if one runs at its end.
  std::int64_t exposed_tail_ns = 0;
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Returns the communication kernels of a trace by start. Values missing from the kernel's arguments come
/// from the record_param_comms operator and the "nccl:..." annotation around its launch, if that launched
/// only one. Needs kLaunches, kOps, kOpArguments and kGpuArguments.
/// `launch` is launches(trace), `types` kernel_types(trace), `steps` by start.
std::vector<CollectiveCall> collective_calls(const Trace& trace, std::span<const std::uint32_t> launch,
                                             std::span<const KernelType> types, std::span<const Step> steps);

/// A row for each call; for scripts only.
DataTable collective_table(const std::vector<CollectiveCall>& calls);

/// Normalises a name: "all_reduce" for "allreduce", "allreduce_coalesced",
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL"... Empty if the name does not tell ("ncclDevKernel_Generic").
std::string collective_name(std::string_view name);

/// Returns the size S of nccl-tests' performance notes, in bytes: the final size on a rank for all_gather,
/// the initial one for reduce_scatter, the sent one for the others. -1 if unknown.
double message_bytes(const CollectiveCall& call);

}  // namespace headroom::trace
