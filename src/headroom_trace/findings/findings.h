// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/findings/step_shares.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {

/// The kind of cause that lengthens a step.
enum class FindingKind : std::uint8_t {
  kDataLoading,           ///< the device waits for the program's input
  kExposedCopy,           ///< copies between host and device without overlap
  kExposedCommunication,  ///< collectives without overlapping computation
  kPipelineBubble,        ///< the same of sends and receives between stages
  kSynchronisation,       ///< the host waits for the device, which then waits for the host
  kDeviceAllocation,      ///< cudaMalloc, cudaFree in the steps
  kLaunchBound,           ///< kernels too short for what their launches cost
  kHostBound,             ///< the device waits for other work of the host
  kRecompilation,         ///< torch.compile at work in the steps
  kGarbageCollection,     ///< Python's collector
  kStraggler,             ///< the other ranks wait for this one
  kImbalance,             ///< several ranks come late, none alone
  kSlowStep,              ///< steps longer than the others for no other cause
  kKernelBelowRoof,       ///< an operator far below the roofline for its shapes
  kFragmentation,         ///< reserved memory that cannot be used, with allocations because of it
  kFirstUse,              ///< a library, module or kernel is loaded at its first use
  kSlowLaunch,            ///< launch calls that take long themselves
  kDeviceLate             ///< the device starts work long after its launch has returned
};
inline constexpr std::size_t kFindingKinds = 18;
/// "data_loading"
const char* to_string(FindingKind kind);
/// Throws Error for an unknown text.
FindingKind finding_kind(std::string_view text);

/// A cause of lost time, its place and its fix. Gains are per step, of the whole trace where it has no steps.
struct Finding {
  FindingKind kind = FindingKind::kHostBound;
  double recoverable_ns = 0;     ///< without this cause alone (Replay: the rest unchanged)
  double further_ns = 0;         ///< on top of the findings before it
  double share = 0;              ///< recoverable_ns of the mean step
  std::int64_t partner = -1;     ///< place of an earlier finding whose gain depends on this one's; -1: none
  double together_ns = 0;        ///< without this cause and the partner's
  std::int64_t rank = -1;        ///< -1: of one trace, or of every rank
  std::int64_t step = -1;        ///< number of the step that loses most; -1 without steps
  std::int64_t at_ns = 0;        ///< when it takes longest, on the trace's clock
  std::string op, module, line;  ///< where: the operator or annotation, nn.Module, line of Python; or empty
  std::string evidence, fix;     ///< a sentence with the numbers, and what to do
};

/// Sorts by gain, largest first. Partners stay the same findings.
void sort_findings(std::vector<Finding>& findings);

/// Returns what a step would gain without the causes of the first findings of a trace or job.
double joint_gain_ns(std::span<const Finding> first);

/// True if two gains are not independent: together they differ from their sum by more than 10 % of the
/// larger, or by more than half of the smaller.
bool are_dependent(double gain_ns, double other_ns, double together_ns);

/// "rank 2, most in step 3, aten::item, Linear_0, train.py(41): log_loss"; empty if nothing is known.
std::string place_text(const Finding& finding);

/// The table `findings`, in the order given.
DataTable finding_table(std::span<const Finding> findings);
inline constexpr const char* kFindingTable = "findings";

/// Returns the findings as text: "1. data_loading costs 4.9 ms of 21.1 ms a step (23 %): ...", with place and
/// fix on lines of their own; one sentence if nothing was found.
std::vector<std::string> finding_sentences(std::span<const Finding> findings, double step_ns, bool has_steps);

/// The findings of one trace.
struct TraceFindings {
  std::vector<Finding> findings;
  StepShares shares;
};

/// Adds the findings of a trace to a result: sentences in the answer and the table `findings`. Returns them.
/// `most`: number of findings in sentences, 0: all. A non-empty `without` first adds the step time without
/// what matches it (add_without).
TraceFindings add_findings(const TraceIndex& index, std::size_t most, AnalysisResult& result,
                           const std::string& without = "");

/// Minimum needs of the analyses that call add_findings.
inline constexpr Needs kFindingNeeds = Needs::kLaunches | Needs::kOpEvents | Needs::kSyncs;

}  // namespace headroom::trace
