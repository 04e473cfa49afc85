// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {

/// What marks the steps of a trace.
enum class StepSource : std::uint8_t {
  kNoSteps,      ///< no steps: the whole trace is one
  kProfilerStep  ///< ProfilerStep#N of PyTorch
};

/// The steps of a trace by start.
struct StepSet {
  StepSource source = StepSource::kNoSteps;
  std::vector<Step> steps;
  std::vector<bool> is_whole;  ///< by step: figures per step use only these
};

StepSet step_set(const Trace& trace);

}  // namespace headroom::trace
