// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {

class TraceIndex;
struct Finding;

/// Whether the device time of a step is known.
enum class DeviceTimeStatus : std::uint8_t {
  kYes,
  kNoWork,
  kAfterSteps,  ///< hardly any inside the steps (StepSet::is_device_behind)
  kIncomplete   ///< every step lacks launched work
};
inline constexpr std::size_t kDeviceTimeStatuses = 4;

/// Breakdown of a step, or of the trace without steps; mean of the devices.
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
/// Returns step_line with the joint gain of the first three findings; the explained and unrecorded shares of
/// the lost time; the reason if more than 10 % of the step stay unexplained. Empty for a trace without a
/// length.
std::vector<std::string> standing_lines(const StepShares& shares, std::span<const Finding> findings);
/// Returns the lost share of the step without findings.
double unexplained(const StepShares& shares, std::span<const Finding> findings);
inline constexpr double kHighLoss = 0.1;

}  // namespace headroom::trace
