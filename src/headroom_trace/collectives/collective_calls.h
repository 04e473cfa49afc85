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

struct CollectiveCall {
  std::uint32_t event = kNone;  ///< kNone: from another process
  std::string group;            ///< "stream 20" without groups
  std::string group_ranks;      ///< "[0, 1]"; empty if unknown
  std::int64_t group_size = -1;
  std::int64_t index = 0;  ///< in its group, by start
  std::string collective;  ///< all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, ...
  std::string kernel;
  std::string dtype;
  double elements_in = -1, elements_out = -1;
  double bytes = -1;  ///< message_bytes; -1: unknown
  std::int32_t device = -1;
  std::int64_t stream = -1;
  std::int64_t iteration = -1;  ///< launching step (else: of the start); -1: none
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t exposed_ns = 0;  ///< without computing on the device
  /// Time since the computing launched before it ended, or 0. If long, the call waited for its stream or was
  /// launched late.
  std::int64_t ready_for_ns = 0;
  /// The last part without computing, which may wait for it.
  std::int64_t exposed_tail_ns = 0;
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// By start. Missing arguments come from the record_param_comms operator and "nccl:..." annotation of the
/// launch, if it launched only one. Needs kLaunches, kOps, kOpArguments and kGpuArguments. `launch`:
/// launches(trace); `types`: kernel_types(trace); `steps`: by start.
std::vector<CollectiveCall> collective_calls(const Trace& trace, std::span<const std::uint32_t> launch,
                                             std::span<const KernelType> types, std::span<const Step> steps);

/// For scripts only.
DataTable collective_table(const std::vector<CollectiveCall>& calls);

/// "all_reduce" for "allreduce_coalesced" or "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; "" if unknown
/// ("ncclDevKernel_Generic").
std::string collective_name(std::string_view name);

/// S of nccl-tests' performance notes: final size per rank for all_gather, initial for reduce_scatter, sent
/// for others; -1 if unknown.
double message_bytes(const CollectiveCall& call);

}  // namespace headroom::trace
