// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Bandwidth of writing a working set of `bytes`, by `pattern`: "plain", "evict_first" (both as Walk's
/// linear), "tiles" (evict_first, a block for each tile). The limit is the best of the patterns. Verified by
/// the sum of all words.
void limit_write(State& state);

}  // namespace headroom::cuda
