// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/index/steps.h"

namespace headroom::trace {

StepSet step_set(const Trace& trace) {
  StepSet set;
  set.steps = steps(trace);
  set.is_whole.assign(set.steps.size(), true);
  if (!set.steps.empty()) set.source = StepSource::kProfilerStep;
  return set;
}

}  // namespace headroom::trace
