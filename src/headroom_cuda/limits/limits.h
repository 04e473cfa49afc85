// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Reads `bytes` by `pattern` (Walk). Of all limits, the best pattern counts; bandwidths are verified by the
/// sum of all words.
void limit_read(State& state);

/// Writes by `pattern`: "plain", "evict_first" (both linear), "tiles" (evict_first, a block per tile).
void limit_write(State& state);

/// Copies one half of `bytes` to the other (counts bytes read plus written), by the patterns of limit_write.
void limit_copy(State& state);

/// Peak of `dtype` with the instruction `pattern`: "fma", or "mma" and "wgmma" on tensor cores (fp8 as e4m3).
/// Verifies a few rounds against float64.
void limit_peak(State& state);

}  // namespace headroom::cuda
