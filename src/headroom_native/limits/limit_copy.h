// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Bandwidth of copying one half of a working set of `bytes` to its other half, by `pattern`: read and
/// written bytes together. The limit is the best of the patterns.
void limit_copy(State& state);

}  // namespace headroom::native
