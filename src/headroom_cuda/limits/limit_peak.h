// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// Arithmetic peak of `dtype` with the instruction that `pattern` names: "fma" (f32), "mma" and "wgmma" (f16,
/// bf16, fp8 as e4m3, int8 on tensor cores). The limit is the best of the patterns. What a case runs is
/// verified for a few rounds against float64.
void limit_peak(State& state);

}  // namespace headroom::cuda
