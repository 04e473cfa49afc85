// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Measures reads of `bytes`, by `pattern` (Walk). In all limits, the best pattern is the limit. The
/// bandwidth limits are verified by the sum of all words.
void limit_read(State& state);

/// Measures writes of `bytes`, by `pattern`: "plain", "evict_first" (both linear walks), "tiles"
/// (evict_first, a block for each tile).
void limit_write(State& state);

/// Measures copies of one half of `bytes` to the other (bytes read plus written), by the patterns of
/// limit_write.
void limit_copy(State& state);

/// Measures the arithmetic peak of `dtype` with the instruction `pattern`: "fma", or "mma" and "wgmma" on
/// tensor cores (fp8 as e4m3). A few rounds are verified against float64.
void limit_peak(State& state);

}  // namespace headroom::cuda
