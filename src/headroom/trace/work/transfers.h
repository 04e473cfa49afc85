// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// Between what and what bytes are moved. "PtoP": from one device to another.
enum class TransferKind : std::uint8_t { kHtoD, kDtoH, kDtoD, kPtoP, kHtoH, kMemset, kUnknown };
inline constexpr std::size_t kTransferKinds = 7;
const char* to_string(TransferKind kind);

/// By name, as Kineto ("Memcpy HtoD (Pinned -> Device)"), JAX ("MemcpyH2D"), ROCm ("CopyHostToDevice",
/// "MEMORY_COPY_DEVICE_TO_HOST", "__amd_rocclr_fillBuffer") write it.
TransferKind transfer_kind(std::string_view name);

/// What is in parentheses, "Pageable -> Device": which memory; empty where the name does not say.
std::string_view transfer_memory(std::string_view name);

/// A copy or a set: work of the categories of copies and sets, and kernels that are memory work by name.
struct Transfer {
  std::uint32_t row = 0;  ///< of Trace::gpu
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::int64_t start_ns = 0, duration_ns = 0;
  double bytes = -1;
  /// What the file says ("memory bandwidth (GB/s)"), else bytes over time; -1 where neither is known.
  double bandwidth_gb_s = -1;
};
std::vector<Transfer> transfers(const Trace& trace);

/// From at_ns until the next step, transfers of one kind of one device move that much together.
struct BandwidthStep {
  std::int64_t at_ns = 0;
  double gb_s = 0;
  std::int32_t active = 0;  ///< transfers under way
};
struct BandwidthSeries {
  std::int32_t device = -1;
  TransferKind kind = TransferKind::kUnknown;
  std::size_t transfers = 0;
  std::size_t without_bandwidth = 0;  ///< left out
  std::vector<BandwidthStep> steps;   ///< by time, one an instant; the last is 0
};
/// One entry a (device, kind), in that order: the bandwidth of a transfer is added from its start to its end.
/// One of no duration counts for 1 us, as HTA has it: the clocks of old files have no finer tick.
std::vector<BandwidthSeries> bandwidth_series(const std::vector<Transfer>& transfers);

}  // namespace headroom::trace
