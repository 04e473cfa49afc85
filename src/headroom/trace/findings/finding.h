// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// What keeps a step from being shorter.
enum class FindingKind : std::uint8_t {
  kDataLoading,           ///< the device waits for the program's input
  kExposedCopy,           ///< copies between host and device that hide behind nothing
  kExposedCommunication,  ///< collectives that hide behind no computing
  kPipelineBubble,        ///< the same of sends and receives between stages
  kSynchronisation,       ///< the host waits for the device, which then waits for the host
  kDeviceAllocation,      ///< cudaMalloc, cudaFree in the steps
  kLaunchBound,           ///< kernels too short for what their launches cost
  kHostBound,             ///< the device waits for other work of the host
  kRecompilation,         ///< torch.compile at work in the steps
  kGarbageCollection,     ///< Python's collector
  kStraggler,             ///< the other ranks wait for this one
  kImbalance,             ///< several ranks come late, none alone
  kSlowStep,              ///< steps that take longer than the others, for no cause of these
  kKernelBelowRoof,       ///< an operator far from what the device could do with its shapes
  kFragmentation          ///< memory that is reserved and cannot be used, with allocations for it
};
inline constexpr std::size_t kFindingKinds = 15;
/// "data_loading"
const char* to_string(FindingKind kind);
/// Throws Error for a text that is no kind's.
FindingKind finding_kind(std::string_view text);

/// A cause of lost time, where it is, and what to do. `recoverable_ns` is what a step would lose if the cause
/// were gone (Replay: the rest of the program as it was), after those that stand before it in the search.
struct Finding {
  FindingKind kind = FindingKind::kHostBound;
  double recoverable_ns = 0;     ///< per step; of the whole trace where it has no steps
  double share = 0;              ///< of the mean step
  std::int64_t rank = -1;        ///< -1: of one trace, or of every rank
  std::int64_t step = -1;        ///< number of the step that loses most; -1 without steps
  std::int64_t at_ns = 0;        ///< when it takes longest, on the trace's clock
  std::string op, module, line;  ///< where: the operator or annotation, nn.Module, line of Python; or empty
  std::string evidence, fix;     ///< a sentence with the numbers, and what to do
};

/// By gain, largest first.
void sort_findings(std::vector<Finding>& findings);

/// The table `findings`, one row each in the order given, and back. Throws Error for another table.
DataTable finding_table(std::span<const Finding> findings);
std::vector<Finding> findings_of(const DataTable& table);
inline constexpr const char* kFindingTable = "findings";

/// For people: "1. data_loading costs 4.9 ms of 21.1 ms a step (23 %): ...", where and what to do on lines of
/// their own; a sentence that nothing was found where there is none.
std::vector<std::string> finding_sentences(std::span<const Finding> findings, double step_ns, bool has_steps);

}  // namespace headroom::trace
