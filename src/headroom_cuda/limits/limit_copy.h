// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Bandwidth of copying one half of a working set of `bytes` to the other, read and written bytes, by
/// `pattern` as those of limit_write. The limit is the best of the patterns. Verified by the sum of all
/// words.
void limit_copy(State& state);

}  // namespace headroom::cuda
