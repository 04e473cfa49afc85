// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::native {

/// Bandwidth of reading a working set of `bytes`, by `pattern`. The limit is the best of the patterns.
void limit_read(State& state);

/// Bandwidth of writing a working set of `bytes`, by `pattern`. Does not count the read of a line before a
/// store. The limit is the best of the patterns.
void limit_write(State& state);

/// Bandwidth of clearing a working set by the CPU's clearing instruction. Skipped if the CPU has none.
void limit_zero_fill(State& state);

/// Bandwidth of copying one half of a working set of `bytes` to the other, by `pattern`: bytes read plus
/// bytes written. The limit is the best of the patterns.
void limit_copy(State& state);

/// Arithmetic peak of `dtype` by the instruction of `pattern`. The limit is the best of the patterns.
void limit_peak(State& state);

/// One-way latency of a cache line between the CPUs of worker 0 and worker 1: a measure of how close they
/// are, because bandwidth limits depend on placement.
void limit_pingpong(State& state);

}  // namespace headroom::native
