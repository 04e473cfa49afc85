// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Bandwidth of writing a working set of `bytes`, by `pattern`. What a store reads first to own its line is
/// not counted. The limit is the best of the patterns.
void limit_write(State& state);

/// Bandwidth of clearing a working set by the instruction for that. Skipped where the CPU has none.
void limit_zero_fill(State& state);

}  // namespace headroom::native
