// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {

class TraceIndex;
struct Finding;

enum class DeviceTimeStatus : std::uint8_t {
  kYes,
  kNoWork,
  kAfterSteps,  ///< hardly any inside the steps (StepSet::is_device_behind)
  kIncomplete   ///< every step lacks launched work
};
inline constexpr std::size_t kDeviceTimeStatuses = 4;

/// Mean of the devices; of a step, or of the trace without steps.
struct StepShares {
  double step_ns = 0;
  std::int64_t steps = 0;
  DeviceTimeStatus known = DeviceTimeStatus::kNoWork;
  double busy = 0, exposed_communication = 0, exposed_copies = 0;  ///< shares of the step
  double not_recorded = 0;                                         ///< idle for unknown reasons, share
  std::array<double, kHostActivities> idle_during{};               ///< share, by host activity

  bool is_known() const { return known == DeviceTimeStatus::kYes; }
  double idle() const { return is_known() ? 1 - busy : 0; }
  /// Idle or exposed.
  double lost() const { return idle() + exposed_communication + exposed_copies; }
  bool has_steps() const { return steps > 0; }
};

/// Needs kGpuWork; kLaunches and kOps give the reasons of idle time.
StepShares step_shares(const TraceIndex& index, double step_ns, bool has_host);
StepShares mean_of(std::span<const StepShares> ranks);

/// Returns "step 10.3 ms · GPU busy 98.0 % · exposed communication 0 %".
std::string step_line(const StepShares& shares);
/// Returns step_line with the joint gain of the first three findings, the explained and unrecorded shares of
/// the lost time, and the reason if more than 10 % of the step stay unexplained. Empty for a trace without a
/// length.
std::vector<std::string> standing_lines(const StepShares& shares, std::span<const Finding> findings);
/// Returns the lost share of the step without findings.
double unexplained(const StepShares& shares, std::span<const Finding> findings);
inline constexpr double kHighLoss = 0.1;

enum class FindingKind : std::uint8_t {
  kDataLoading,
  kExposedCopy,
  kExposedCommunication,
  kPipelineBubble,  ///< exposed sends and receives
  kSynchronisation,
  kDeviceAllocation,
  kLaunchBound,  ///< kernels shorter than their launch cost
  kHostBound,    ///< the device waits for other host work
  kRecompilation,
  kGarbageCollection,
  kStraggler,
  kImbalance,        ///< several ranks are late
  kSlowStep,         ///< without another cause
  kKernelBelowRoof,  ///< an operator far below the roofline
  kFragmentation,    ///< reserved but unusable memory
  kFirstUse,         ///< loads a library, module or kernel
  kSlowLaunch,
  kDeviceLate  ///< work starts long after its launch returned
};
inline constexpr std::size_t kFindingKinds = 18;
const char* to_string(FindingKind kind);
/// Throws Error for an unknown text.
FindingKind finding_kind(std::string_view text);

/// Gains are per step, or of the trace if it has no steps.
struct Finding {
  FindingKind kind = FindingKind::kHostBound;
  double recoverable_ns = 0;     ///< gain of this cause alone
  double further_ns = 0;         ///< gain on top of the findings before it
  double share = 0;              ///< recoverable_ns / mean step
  std::int64_t partner = -1;     ///< index of an earlier, dependent finding; -1: none
  double together_ns = 0;        ///< gain of both
  std::int64_t rank = -1;        ///< -1: one trace, or every rank
  std::int64_t step = -1;        ///< the one that loses most; -1 without steps
  std::int64_t at_ns = 0;        ///< when it takes longest, on the trace's clock
  std::string op, module, line;  ///< where; each may be empty
  std::string evidence, fix;
};

/// Sorts by gain, largest first, and renumbers the partners.
void sort_findings(std::vector<Finding>& findings);

double joint_gain_ns(std::span<const Finding> first);

/// True if the joint gain differs from the sum by more than 10 % of the larger or half of the smaller.
bool are_dependent(double gain_ns, double other_ns, double together_ns);

/// "rank 2, most in step 3, aten::item, Linear_0, train.py(41): log_loss"; may be empty.
std::string place_text(const Finding& finding);

DataTable finding_table(std::span<const Finding> findings);
inline constexpr const char* kFindingTable = "findings";

/// "1. data_loading costs 4.9 ms of 21.1 ms a step (23 %): ...", with place and fix; one sentence if there
/// are no findings.
std::vector<std::string> finding_sentences(std::span<const Finding> findings, double step_ns, bool has_steps);

struct TraceFindings {
  std::vector<Finding> findings;
  StepShares shares;
};

/// `most`: number of sentences, 0: all. A non-empty `without` (glob) prepends the step time without those
/// events.
TraceFindings add_findings(const TraceIndex& index, std::size_t most, AnalysisResult& result,
                           const std::string& without = "");

/// Minimum needs of add_findings.
inline constexpr Needs kFindingNeeds = Needs::kLaunches | Needs::kOpEvents | Needs::kSyncs;

/// Answers with the standing lines and the first `most` findings (0: all); adds their table and the headline
/// "recoverable_ns".
void report_findings(const std::vector<Finding>& findings, const StepShares& shares, std::size_t most,
                     AnalysisResult& result);

}  // namespace headroom::trace
