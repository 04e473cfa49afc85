// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Bandwidth of reading a working set of `bytes`, by `pattern`. The limit is the best of the patterns.
void limit_read(State& state);

}  // namespace headroom::native
