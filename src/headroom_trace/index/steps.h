// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {

/// What marks the steps of a trace; of several the first in this order.
enum class StepSource : std::uint8_t {
  kNoSteps,       ///< no steps: the whole trace is one
  kProfilerStep,  ///< ProfilerStep#N of PyTorch
  kStepNum,       ///< step_num of JAX
  kNvtx,          ///< ranges of NVTX or roctx that repeat
  kExecute,       ///< vLLM's execute_...
  kAnnotation     ///< another annotation that repeats
};
/// "ProfilerStep", "NVTX range"
const char* to_string(StepSource source);

/// The steps of a trace by start; they belong to one thread.
struct StepSet {
  StepSource source = StepSource::kNoSteps;
  std::string name;  ///< common to all; digits that differ are #: "iteration #"
  std::vector<Step> steps;
  /// By step: at least 95 % of its launches have device work in the file. True where no launches were read.
  std::vector<bool> is_whole;
  /// Pieces of device work from the first step on, and those of them that start before the last one ends.
  std::size_t works = 0, works_inside = 0;
  /// Time of those inside as a share of the time from the first step to the last, on the device with most.
  double share_inside = 0;

  /// The steps that figures per step use: the longest run of whole ones; all if none is whole.
  std::span<const Step> measured() const;
  /// True if the devices do little until the steps are over, and most of their work then: their time in a
  /// step tells nothing about the step.
  bool is_device_behind() const { return works > 2 * works_inside && share_inside < 0.5; }
};

/// Finds the steps: ProfilerStep or step_num annotations of the CPU, of the thread with most of them; else
/// annotations of one name and thread that occur three times or more, do not overlap, and cover more than
/// 80 % of the devices' span. All are whole.
StepSet step_set(const Trace& trace);

/// Fills in StepSet::is_whole by the launches of each step.
void find_whole_steps(const Trace& trace, StepSet& set);

/// A sentence about steps that no profiler marked, else empty: "the steps are the 12 NVTX ranges
/// 'iteration #'".
std::string step_note(const StepSet& set);

/// A sentence if is_device_behind, else empty.
std::string behind_note(const StepSet& set);

}  // namespace headroom::trace
