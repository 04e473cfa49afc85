// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/structural_walk.h"

namespace headroom::trace {

/// What stands in an event beside its arguments; empty where it does not.
struct EventFields {
  Raw phase, category, name, pid, tid, ts, dur, id;
  Walk arguments;  ///< at the value of "args"; at == nullptr without one
};

/// Reads the event whose { is here and moves past it. False when its tokens make no object.
bool walk_event(Walk& walk, EventFields& fields);

}  // namespace headroom::trace
