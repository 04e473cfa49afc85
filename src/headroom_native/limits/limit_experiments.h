// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Reads `bytes`. In all limits, the best pattern counts.
void limit_read(State& state);

/// Writes `bytes`; the read of a line before a store does not count.
void limit_write(State& state);

/// The CPU's clearing instruction; skipped without one.
void limit_zero_fill(State& state);

/// Copies one half of `bytes` to the other (counts bytes read plus written).
void limit_copy(State& state);

void limit_peak(State& state);

/// One-way latency between the CPUs of workers 0 and 1: bandwidth limits depend on their distance.
void limit_pingpong(State& state);

}  // namespace headroom::native
