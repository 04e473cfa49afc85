// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Time in which a cache line goes one way from the CPU of worker 0 to that of worker 1, or back. It tells
/// how near to each other the two are: bandwidth limits differ by placement.
void limit_pingpong(State& state);

}  // namespace headroom::native
