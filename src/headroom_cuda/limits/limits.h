// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Bandwidth of reading a working set of `bytes`, by `pattern` (Walk). The limit is the best of the patterns.
/// Verified by the sum of all words.
void limit_read(State& state);

/// Bandwidth of writing a working set of `bytes`, by `pattern`: "plain", "evict_first" (both as Walk's
/// linear), "tiles" (evict_first, a block for each tile). The limit is the best of the patterns. Verified by
/// the sum of all words.
void limit_write(State& state);

/// Bandwidth of copying one half of a working set of `bytes` to the other, read and written bytes, by
/// `pattern` as those of limit_write. The limit is the best of the patterns. Verified by the sum of all
/// words.
void limit_copy(State& state);

/// Arithmetic peak of `dtype` with the instruction `pattern`: "fma", or "mma" and "wgmma" on tensor cores
/// (fp8 as e4m3). The limit is the best of the patterns. A few rounds of the same kernel are verified against
/// float64.
void limit_peak(State& state);

}  // namespace headroom::cuda
