// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Bandwidth of reading a working set of `bytes`, by `pattern` (Walk). The limit is the best of the patterns.
/// Verified by the sum of all words.
void limit_read(State& state);

}  // namespace headroom::cuda
