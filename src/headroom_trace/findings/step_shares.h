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

/// Whether the time of the devices in a step is known.
enum class DeviceTimeKnown : std::uint8_t {
  kYes,
  kNoWork,      ///< no device work in the file
  kAfterSteps,  ///< hardly any of it inside the steps (StepSet::is_device_behind)
  kIncomplete   ///< every step lacks work that it launches
};
inline constexpr std::size_t kDeviceTimesKnown = 4;

/// Where the time of a step goes, as the mean of the devices; of the whole trace where it has no steps.
struct StepShares {
  double step_ns = 0;
  std::int64_t steps = 0;  ///< 0: none in the trace
  DeviceTimeKnown known = DeviceTimeKnown::kNoWork;
  double busy = 0, exposed_communication = 0, exposed_copies = 0;  ///< shares of the step
  double not_recorded = 0;  ///< share: idle before work whose launch is not in the file, or for no event
  std::array<double, kHostDoings> idle_while{};  ///< share by activity of the host; nothing not recorded

  bool is_known() const { return known == DeviceTimeKnown::kYes; }
  double idle() const { return is_known() ? 1 - busy : 0; }
  /// Idle, or at work that a program wants to hide behind computing.
  double lost() const { return idle() + exposed_communication + exposed_copies; }
  bool has_steps() const { return steps > 0; }
};

/// Needs kGpuWork. Only with the host (kLaunches, kOps) the idle time has reasons.
StepShares step_shares(const TraceIndex& index, double step_ns, bool has_host);
/// The mean of several ranks.
StepShares mean_of(std::span<const StepShares> ranks);

/// "step 10.3 ms · GPU busy 98.0 % · exposed communication 0 %"
std::string step_line(const StepShares& shares);
/// The sentences above every answer: step_line with what the first three findings would save; how much of the
/// lost time the findings explain and how much is not recorded; the reason where more than 10 % of the step
/// stay unexplained. Nothing for a trace without a length.
std::vector<std::string> standing_lines(const StepShares& shares, std::span<const Finding> findings);
/// What is lost and not explained by the findings, as a share of the step.
double unexplained(const StepShares& shares, std::span<const Finding> findings);
inline constexpr double kMuchLost = 0.1;  ///< share of a step that is not left without a reason

}  // namespace headroom::trace
