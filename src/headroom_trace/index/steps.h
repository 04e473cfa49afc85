// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {

/// The marks of steps, in order of preference.
enum class StepSource : std::uint8_t {
  kNoSteps,       ///< the whole trace is one step
  kProfilerStep,  ///< PyTorch
  kStepNum,       ///< JAX
  kNvtx,
  kExecute,  ///< vLLM's execute_...
  kAnnotation
};
const char* to_string(StepSource source);

struct StepSet {
  StepSource source = StepSource::kNoSteps;
  std::string name;  ///< common name; differing digits become #
  std::vector<Step> steps;
  /// At least 95 % of the launches have device work in the file, or no launches were read.
  std::vector<bool> is_whole;
  /// From the first step on, and the part starting before the last step ends.
  std::size_t works = 0, works_inside = 0;
  /// Busy share of the steps on the busiest device.
  double share_inside = 0;

  /// The longest run of whole steps, else all.
  std::span<const Step> measured() const;
  /// Most device work runs after the steps: device time per step means nothing.
  bool is_device_behind() const { return works > 2 * works_inside && share_inside < 0.5; }
};

/// ProfilerStep or step_num annotations of the thread with most of them; else annotations of one name and
/// thread that occur at least three times without overlap and cover more than 80 % of the devices' span.
/// Marks all as whole.
StepSet step_set(const Trace& trace);

/// Sets StepSet::is_whole.
void find_whole_steps(const Trace& trace, StepSet& set);

/// Describes steps not marked by a profiler, else empty.
std::string step_note(const StepSet& set);

std::string device_behind_note(const StepSet& set);

}  // namespace headroom::trace
